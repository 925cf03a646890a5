// For tests of readers: the complaint with which reading ends.
#pragma once

#include <string>

#include "emu/runner/scenario.h"

namespace rocelab {

// "none": `read` has thrown no ScenarioError.
template <class Read>
std::string complaint_of(Read&& read) {
  try {
    read();
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace rocelab
