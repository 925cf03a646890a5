// What Linux says of a process or thread: proc(5), field 3 of its stat file.
#pragma once

#include <cstdint>

namespace rocelab::lockstep {

// State letter of the stat file at `path` (R, S, D, T, t, Z ...). 'X', as of the dead, when there is none.
char proc_state(const char* path);
char state_of_process(std::uint32_t pid);
// One of its threads runs, or would if the machine gave it a processor.
bool has_running_thread(std::uint32_t pid);

// The process has ended, or there is none. Unlike kill(2) it is not deceived by one whose parent has not
// waited for it: a zombie. It opens a descriptor for a moment. System calls only: libc's may be interposed.
bool process_ended(std::uint32_t pid);

}  // namespace rocelab::lockstep
