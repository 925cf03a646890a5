// What programs read of packets, queues, buffers and ports, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/dimension.h"
#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab::oq {

struct Field {
  const char* name;
  std::uint8_t number;  // PacketField, QueueField, BufferField or PortField
  Dim dim;              // kAny: the program says (a size's unit, a state variable)
  bool fixed;           // while its packet waits: orders over packets may read it
  const char* words;
};
std::span<const Field> packet_fields();
std::span<const Field> queue_fields();
std::span<const Field> buffer_fields();
std::span<const Field> port_fields();
std::span<const Field> fields_of(ObjectKind kind);

// The chapter's state variables of a kind of object: name and slot.
struct StateName {
  const char* name;
  std::uint8_t slot;
  bool queue, buffer, port;
};
std::span<const StateName> chapter_states();

// Properties: what `object.name = ...` may set.
struct Property {
  const char* name;
  ObjectKind of;
  const char* words;
};
std::span<const Property> properties();

const Field* find_field(std::span<const Field> fields, const std::string& name);

}  // namespace rocelab::oq
