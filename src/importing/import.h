#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "importing/readers.h"

namespace duet {

// The records that say what another tool's output says: an environment record and results. Which
// tool and which form it is follows from the contents. `name` is the file's name, for messages and
// the environment record. Every record passes check_record. Throws UsageError, on one line that
// begins with the name, if the text is not the output of a tool that is known, or is not whole; and
// no other error on any bytes.
std::vector<Record> import_run(const std::string& name, std::string_view text,
                               const ImportOptions& options);

}  // namespace duet
