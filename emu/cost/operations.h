// The hardware modules of the papers as loops over our laws. prepare() makes the objects that run() works on,
// so that whoever runs it can take the time, or count the instructions, of the operations alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace rocelab {

struct CostOperation {
  std::string_view name;   // as the paper calls the module
  std::string_view paper;  // irn, rocc, escape
  std::string_view what;   // one operation
  double paper_mops = 0;   // million a second
  std::string_view source;
};
std::span<const CostOperation> cost_operations();

class CostLoop {
 public:
  virtual ~CostLoop() = default;
  virtual void prepare() = 0;
  virtual std::uint64_t run() = 0;  // how many operations; after each prepare() once
};
std::unique_ptr<CostLoop> make_cost_loop(std::string_view name);  // null: no such operation

}  // namespace rocelab
