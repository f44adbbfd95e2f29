#pragma once

namespace duet {

// Whether the other end of this connection, within this machine, is a socket of this process's
// user. True if the kernel does not answer.
bool peer_is_this_user(int descriptor);

}  // namespace duet
