// The clock of the fabric: the host moves the data, so its clock times them.
#pragma once

namespace duet {

double steady_now();  // seconds

}  // namespace duet
