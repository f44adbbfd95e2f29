// Whose the other end of a connection within this machine is.
#pragma once

namespace duet {

// Is it a socket of this user's? Also true where the kernel does not tell.
bool peer_is_this_user(int descriptor);

}  // namespace duet
