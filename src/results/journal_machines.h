#pragma once

#include <string>
#include <vector>

#include "results/journal.h"

namespace duet {

// A machine that an environment names.
struct JournalMachine {
  std::string name;                  // "cuda"
  std::vector<std::string> devices;  // names by index: "cuda:0"
  std::vector<std::string> models;   // by index, "" if the record has none

  bool operator==(const JournalMachine& other) const {
    return name == other.name && devices == other.devices && models == other.models;
  }
};

// The machines of all environments (a resumed journal has several), each once, in order of
// appearance. The same name with other devices is another machine.
std::vector<JournalMachine> machines_in(const std::vector<JournalRun>& runs);

// As machines_in(), but throws UsageError, naming the journal, if two machines have the same name:
// their figures would be taken for the same cases.
std::vector<JournalMachine> machines_by_name(const std::string& journal,
                                             const std::vector<JournalRun>& runs);

// "cuda (4 x NVIDIA H200)"; machines_text() puts commas between machines.
std::string machine_text(const JournalMachine& machine);
std::string machines_text(const std::vector<JournalMachine>& machines);
// "cuda:0 = NVIDIA H200, cuda:1 = NVIDIA H200".
std::string device_text(const JournalMachine& machine);

}  // namespace duet
