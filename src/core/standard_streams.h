#pragma once

namespace duet {

// Opens those of the descriptors 0, 1 and 2 that are closed, on /dev/null. Otherwise the next file
// or socket that is opened would get the number, and with it what is written for the console.
// Called when libduet or the drop-in is loaded, so before any program of ours opens a file.
void open_standard_streams() noexcept;

// Has open_standard_streams() found this descriptor (0, 1 or 2) closed?
bool was_closed(int stream) noexcept;

}  // namespace duet
