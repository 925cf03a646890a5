// What Linux says of a process or thread: proc(5), field 3 of its stat file.
#pragma once

namespace rocelab::lockstep {

// State letter of the stat file at `path` (R, S, D, T, t, Z ...). 'X', as of the dead, when there is none.
char proc_state(const char* path);

}  // namespace rocelab::lockstep
