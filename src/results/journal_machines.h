// The machines that a journal's environments name: where its figures come from.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

struct JournalMachine {
  std::string name;                  // "cuda"
  std::vector<std::string> devices;  // "cuda:0", by place
  std::vector<std::string> models;   // of each device, "" where the record does not say

  bool operator==(const JournalMachine& other) const {
    return name == other.name && devices == other.devices && models == other.models;
  }
};

// Every machine of the environments among checked records (journals of resumed runs have several),
// each once, in order of appearance. The same name with other devices is another machine.
std::vector<JournalMachine> machines_in(const std::vector<Record>& records);

// The same; throws UsageError, naming the journal, if one name stands for two machines: their
// figures would mix, case by case.
std::vector<JournalMachine> machines_by_name(const std::string& journal,
                                             const std::vector<Record>& records);

// "cuda (4 x NVIDIA H200)", and of several between commas.
std::string machine_text(const JournalMachine& machine);
std::string machines_text(const std::vector<JournalMachine>& machines);
// "cuda:0 = NVIDIA H200, cuda:1 = NVIDIA H200".
std::string device_text(const JournalMachine& machine);

}  // namespace duet
