#pragma once

#include <string>
#include <string_view>

#include "importing/readers.h"

namespace duet {

// The environment and the results that say what another tool's output says. Which tool and which
// form it is follows from the contents. `name` is the file's name, for messages and the
// environment. Throws UsageError, on one line that begins with the name, if the text is not the
// output of a tool that is known, or is not whole; and no other error on any bytes.
JournalRun import_run(const std::string& name, std::string_view text, const ImportOptions& options);

}  // namespace duet
