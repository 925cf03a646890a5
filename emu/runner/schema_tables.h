// The tables of docs/reference/scenarios.md that schemas give (base/schema.h): rows of text, without layout.
// rocelab.generated (emu/rocelab) writes them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rocelab {

struct SchemaRow {
  std::string key;                  // "rate_ai"
  std::vector<std::string> values;  // one for each column of the table, as a scenario writes them
  std::string range;                // "1..1000", "> 0", "line"; empty: as far as the unit goes
  std::string text;
};

struct SchemaTable {
  std::string section;  // "congestion_control.dcqcn"
  std::vector<std::pair<std::string, std::string>>
      columns;  // name and source; a preset's, or "default" alone
  std::vector<SchemaRow> rows;
};

// Congestion controls in the order of their list, then the other sections that have a schema.
std::vector<SchemaTable> schema_tables();

}  // namespace rocelab
