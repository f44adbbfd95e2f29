#pragma once

namespace duet {

const char* version();   // "0.1.0"
const char* revision();  // the git commit it was configured from, "unknown" outside git

}  // namespace duet
