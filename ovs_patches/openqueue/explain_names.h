// Names of a program's objects, put together for sentences.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/tc_mask.h"

namespace rocelab::oq {

// Names of one pattern, whose numbers fill a grid: "port[0..3].q[0..2, 4..7]"; else the first few of them.
std::string names_of(const std::vector<std::string>& names);

// What several objects say of themselves, each text once, in the order of the first that says it. Queues also
// say which classes they receive.
class Groups {
 public:
  void add(const std::string& name, const std::string& text, std::optional<TcMask> takes = {}) {
    Group& group = groups_[text];
    if (group.names.empty()) order_.push_back(text);
    group.names.push_back(name);
    if (takes) group.takes.insert(*takes);
  }
  std::string text() const;

 private:
  struct Group {
    std::vector<std::string> names;
    std::set<TcMask> takes;
  };
  static std::string received(const std::set<TcMask>& takes);
  std::map<std::string, Group> groups_;
  std::vector<std::string> order_;
};

}  // namespace rocelab::oq
