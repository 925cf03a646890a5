// The known name that a wrong one probably means, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rocelab {

// The name that needs the fewest single-letter edits, the first of several; "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& known);
// Whether one may be the other, misspelt: a letter is missing, too many or another, or two changed places.
bool is_slip(std::string_view a, std::string_view b);

}  // namespace rocelab
