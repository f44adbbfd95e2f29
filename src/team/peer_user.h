#pragma once

namespace duet {

// Whether the other end of this connection, within this machine, is a socket of this process's
// user. True where the kernel does not tell.
bool peer_is_this_user(int descriptor);

}  // namespace duet
