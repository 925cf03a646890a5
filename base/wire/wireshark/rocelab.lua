-- Wireshark and tshark: the IRN class of BTH opcodes (base/wire/irn.h), the shim slot (base/wire/shim.h) and the control
-- frames (base/wire/controls.h) of rocelab. Everything else goes to Wireshark's own dissectors, as without this file.
--
--   wireshark -X lua_script:base/wire/wireshark/rocelab.lua out/pcap/irn/s1.pcapng
--   tshark    -X lua_script:base/wire/wireshark/rocelab.lua -r FILE -Y 'irn.opcode == 0xd8' -T fields -e irn.psn -e irn.sack
--
-- tests/python/test_wireshark.py runs it over captures of both engines' wire format.

local ROCE_PORT = 4791
local CLASS_MASK, IRN_CLASS, SHIM_CLASS = 0xe0, 0xc0, 0xe0
local ICRC_BYTES = 4

-- Header names, in the order in which they follow the BTH.
local DETAILS = {
  [0x00] = {"SEND First", "send"},
  [0x01] = {"SEND Middle", "send"},
  [0x02] = {"SEND Last", "send"},
  [0x03] = {"SEND Last with Immediate", "send", "imm"},
  [0x04] = {"SEND Only", "send"},
  [0x05] = {"SEND Only with Immediate", "send", "imm"},
  [0x06] = {"RDMA WRITE First", "reth"},
  [0x07] = {"RDMA WRITE Middle", "reth"},
  [0x08] = {"RDMA WRITE Last", "reth"},
  [0x09] = {"RDMA WRITE Last with Immediate", "reth", "wqe_sn", "imm"},
  [0x0a] = {"RDMA WRITE Only", "reth"},
  [0x0b] = {"RDMA WRITE Only with Immediate", "reth", "wqe_sn", "imm"},
  [0x0c] = {"RDMA READ Request", "reth", "wqe_sn"},
  [0x0d] = {"RDMA READ Response First", "aeth"},
  [0x0e] = {"RDMA READ Response Middle"},
  [0x0f] = {"RDMA READ Response Last", "aeth"},
  [0x10] = {"RDMA READ Response Only", "aeth"},
  [0x11] = {"Acknowledge", "aeth"},
  [0x12] = {"Atomic Acknowledge", "aeth", "atomic_ack"},
  [0x13] = {"Compare and Swap", "atomic", "wqe_sn"},
  [0x14] = {"Fetch and Add", "atomic", "wqe_sn"},
  [0x16] = {"SEND Last with Invalidate", "send", "ieth"},
  [0x17] = {"SEND Only with Invalidate", "send", "ieth"},
  [0x18] = {"NACK", "aeth", "sack"},
  [0x19] = {"READ ACK"},
  [0x1a] = {"READ NACK", "sack"},
  [0x1b] = {"Acknowledge Blocks", "aeth", "blocks"},
  [0x1e] = {"READ ACK Blocks", "blocks"},
}

local opcode_names = {}
for operation, detail in pairs(DETAILS) do opcode_names[IRN_CLASS + operation] = "IRN " .. detail[1] end

local irn = Proto("irn", "rocelab IRN (improved RoCE NIC)")
local f = {
  opcode = ProtoField.uint8("irn.opcode", "Opcode", base.HEX, opcode_names),
  solicited = ProtoField.bool("irn.solicited", "Solicited event", 8, nil, 0x80),
  migrated = ProtoField.bool("irn.migreq", "MigReq", 8, nil, 0x40),
  pad = ProtoField.uint8("irn.pad", "Pad count", base.DEC, nil, 0x30),
  version = ProtoField.uint8("irn.tver", "Transport version", base.DEC, nil, 0x0f),
  pkey = ProtoField.uint16("irn.pkey", "Partition key", base.HEX),
  fecn = ProtoField.bool("irn.fecn", "FECN", 8, nil, 0x80),
  becn = ProtoField.bool("irn.becn", "BECN (the acknowledged packet was marked)", 8, nil, 0x40),
  qp = ProtoField.uint24("irn.destqp", "Destination queue pair", base.HEX),
  ack_req = ProtoField.bool("irn.ackreq", "Acknowledge request", 8, nil, 0x80),
  psn = ProtoField.uint24("irn.psn", "PSN", base.DEC),
  recv_wqe_sn = ProtoField.uint24("irn.recv_wqe_sn", "recv_WQE_SN", base.DEC),
  offset = ProtoField.uint24("irn.offset", "Offset in packets", base.DEC),
  wqe_sn = ProtoField.uint24("irn.wqe_sn", "WQE sequence number (recv_WQE_SN or read_WQE_SN)", base.DEC),
  va = ProtoField.uint64("irn.va", "Virtual address", base.HEX),
  rkey = ProtoField.uint32("irn.rkey", "R_Key", base.HEX),
  dma_length = ProtoField.uint32("irn.dmalen", "Bytes to the message's end", base.DEC),
  swap_or_add = ProtoField.uint64("irn.swap_or_add", "Swap or add data", base.HEX),
  compare = ProtoField.uint64("irn.compare", "Compare data", base.HEX),
  original = ProtoField.uint64("irn.original", "Original data", base.HEX),
  syndrome = ProtoField.uint8("irn.syndrome", "Syndrome", base.HEX),
  msn = ProtoField.uint24("irn.msn", "MSN", base.DEC),
  sack = ProtoField.uint24("irn.sack", "PSN of the packet that arrived instead", base.DEC),
  trigger = ProtoField.uint24("irn.trigger", "PSN of the packet that is answered", base.DEC),
  block_first = ProtoField.uint24("irn.block.first", "Arrived, from PSN", base.DEC),
  block_end = ProtoField.uint24("irn.block.end", "Arrived, up to before PSN", base.DEC),
  imm = ProtoField.uint32("irn.imm", "Immediate data", base.HEX),
  payload = ProtoField.bytes("irn.payload", "Payload"),
  payload_length = ProtoField.uint32("irn.payload_length", "Payload length", base.DEC),
  icrc = ProtoField.uint32("irn.icrc", "ICRC", base.HEX),
}
irn.fields = f
local malformed = ProtoExpert.new("irn.malformed", "Packet ends before its headers do", expert.group.MALFORMED, expert.severity.ERROR)
irn.experts = {malformed}

-- Each takes a header off the front of `at`; the caller has checked the length.
local HEADERS = {
  send = {8, function(tree, b) tree:add(f.recv_wqe_sn, b(0, 3)) tree:add(f.offset, b(3, 3)) end},
  reth = {16, function(tree, b) tree:add(f.va, b(0, 8)) tree:add(f.rkey, b(8, 4)) tree:add(f.dma_length, b(12, 4)) end},
  atomic = {28, function(tree, b)
    tree:add(f.va, b(0, 8))
    tree:add(f.rkey, b(8, 4))
    tree:add(f.swap_or_add, b(12, 8))
    tree:add(f.compare, b(20, 8))
  end},
  aeth = {4, function(tree, b) tree:add(f.syndrome, b(0, 1)) tree:add(f.msn, b(1, 3)) end},
  atomic_ack = {8, function(tree, b) tree:add(f.original, b(0, 8)) end},
  wqe_sn = {4, function(tree, b) tree:add(f.wqe_sn, b(1, 3)) end},
  sack = {4, function(tree, b) tree:add(f.sack, b(1, 3)) end},
  blocks = {28, function(tree, b)
    tree:add(f.trigger, b(1, 3))
    for at = 4, 20, 8 do
      if b(at + 1, 3):uint() ~= b(at + 5, 3):uint() then
        tree:add(f.block_first, b(at + 1, 3))
        tree:add(f.block_end, b(at + 5, 3))
      end
    end
  end},
  imm = {4, function(tree, b) tree:add(f.imm, b(0, 4)) end},
  ieth = {4, function(tree, b) tree:add(f.rkey, b(0, 4)) end},
}

local function add_bth(tree, b)
  tree:add(f.opcode, b(0, 1))
  tree:add(f.solicited, b(1, 1))
  tree:add(f.migrated, b(1, 1))
  tree:add(f.pad, b(1, 1))
  tree:add(f.version, b(1, 1))
  tree:add(f.pkey, b(2, 2))
  tree:add(f.fecn, b(4, 1))
  tree:add(f.becn, b(4, 1))
  tree:add(f.qp, b(5, 3))
  tree:add(f.ack_req, b(8, 1))
  tree:add(f.psn, b(9, 3))
end

function irn.dissector(buffer, pinfo, root)
  local tree = root:add(irn, buffer())
  local detail = DETAILS[bit.band(buffer(0, 1):uint(), 0x1f)]
  pinfo.cols.protocol = "IRN"
  if detail == nil or buffer:len() < 12 + ICRC_BYTES then
    tree:add_proto_expert_info(malformed)
    return buffer:len()
  end
  add_bth(tree, buffer)
  local psn = buffer(9, 3):uint()
  local info = string.format("%s QP=0x%06x PSN=%d", detail[1], buffer(5, 3):uint(), psn)
  local at = 12
  for i = 2, #detail do
    local size, add = HEADERS[detail[i]][1], HEADERS[detail[i]][2]
    if buffer:len() < at + size + ICRC_BYTES then
      tree:add_proto_expert_info(malformed)
      return buffer:len()
    end
    add(tree, buffer(at, size):tvb())
    if detail[i] == "sack" then info = info .. string.format(" got=%d", buffer(at + 1, 3):uint()) end
    at = at + size
  end
  local pad = bit.rshift(bit.band(buffer(1, 1):uint(), 0x30), 4)
  local length = buffer:len() - at - pad - ICRC_BYTES
  if length < 0 then
    tree:add_proto_expert_info(malformed)
    return buffer:len()
  end
  tree:add(f.payload_length, length):set_generated()
  if length > 0 then tree:add(f.payload, buffer(at, length)) end
  tree:add(f.icrc, buffer(buffer:len() - ICRC_BYTES, ICRC_BYTES))
  pinfo.cols.info = info .. (length > 0 and string.format(" Len=%d", length) or "")
  return buffer:len()
end

local shim = Proto("rocelab_shim", "rocelab shim slot")
local s = {
  part = ProtoField.uint8("rocelab_shim.part", "Part", base.DEC, nil, 0x1f),
  words = ProtoField.uint8("rocelab_shim.words", "Value length in words of 4 bytes", base.DEC),
  info = ProtoField.uint16("rocelab_shim.info", "Info", base.HEX),
  value = ProtoField.bytes("rocelab_shim.value", "Value"),
  hops = ProtoField.uint16("rocelab_shim.escape_hops", "Escape: hops", base.DEC),
  path = ProtoField.uint16("rocelab_shim.int.path", "INT: path", base.HEX),
  rate = ProtoField.uint8("rocelab_shim.int.rate", "Rate code", base.DEC),
  time = ProtoField.uint24("rocelab_shim.int.time", "Time, ns", base.DEC),
  sent = ProtoField.uint24("rocelab_shim.int.sent", "Sent, units of 128 B", base.DEC),
  queue = ProtoField.uint16("rocelab_shim.int.queue", "Queue, units of 80 B", base.DEC),
  slack_initial = ProtoField.int64("rocelab_shim.slack.initial", "Slack at the sender, ps", base.DEC),
  slack_current = ProtoField.int64("rocelab_shim.slack.current", "Slack left, ps", base.DEC),
  slack_waits = ProtoField.uint16("rocelab_shim.slack.waits", "Congestion points", base.DEC),
  rcp_rate = ProtoField.uint32("rocelab_shim.rcp.rate", "Rate of the path, kb/s", base.DEC),
  rcp_rtt = ProtoField.uint32("rocelab_shim.rcp.rtt", "Round trip of the sender, units of 100 ns", base.DEC),
  bfc_queue = ProtoField.uint16("rocelab_shim.bfc.queue", "Queue that the frame has left", base.DEC),
  schedule = ProtoField.bool("rocelab_shim.hop_times.schedule", "For switches to read", 16, nil, 0x8000),
  next_hop = ProtoField.uint16("rocelab_shim.hop_times.next", "Switches that have sent it", base.DEC, nil, 0x00ff),
  hop_time = ProtoField.uint64("rocelab_shim.hop_times.time", "Time at a switch, ps", base.DEC),
}
shim.fields = s
local unknown_part = ProtoExpert.new("rocelab_shim.unknown", "Unknown part", expert.group.PROTOCOL, expert.severity.WARN)
local part_twice = ProtoExpert.new("rocelab_shim.twice", "Part twice", expert.group.PROTOCOL, expert.severity.WARN)
shim.experts = {unknown_part, part_twice}

local function add_hops(tree, b) tree:add(s.hops, b(2, 2)) end

-- Records of INT (base/wire/telemetry.h), 8 bytes each.
local function add_int(tree, b)
  tree:add(s.path, b(2, 2))
  for at = 4, b:len() - 8, 8 do
    local record = tree:add(shim, b(at, 8), "INT record " .. ((at - 4) / 8 + 1))
    record:add(s.rate, b(at, 1), b(at, 1):bitfield(0, 4))
    record:add(s.time, b(at, 4), b(at, 4):bitfield(4, 24))
    record:add(s.sent, b(at + 3, 3), b(at + 3, 3):bitfield(4, 20))
    record:add(s.queue, b(at + 6, 2))
  end
end

local function add_slack(tree, b)
  tree:add(s.slack_waits, b(2, 2))
  if b:len() < 20 then return end
  tree:add(s.slack_initial, b(4, 8))
  tree:add(s.slack_current, b(12, 8))
end

local function add_rcp(tree, b)
  if b:len() < 12 then return end
  tree:add(s.rcp_rate, b(4, 4))
  tree:add(s.rcp_rtt, b(8, 4))
end

local function add_hop_times(tree, b)
  tree:add(s.schedule, b(2, 2))
  tree:add(s.next_hop, b(2, 2))
  for at = 4, b:len() - 8, 8 do tree:add(s.hop_time, b(at, 8)) end
end

local function add_bfc(tree, b) tree:add(s.bfc_queue, b(2, 2)) end

-- The parts of base/wire/shim_parts.h by their ids; each takes a whole part.
local PARTS = {
  [1] = {"Escape", add_hops},
  [2] = {"INT", add_int},
  [3] = {"INT, echoed", add_int},
  [5] = {"Escape: a flow that waits", add_hops},
  [6] = {"Slack", add_slack},
  [7] = {"RCP", add_rcp},
  [8] = {"RCP, echoed", add_rcp},
  [9] = {"Times at switches", add_hop_times},
  [10] = {"BFC", add_bfc},
}

local function add_part(root, b, seen)
  local id = bit.band(b(0, 1):uint(), 0x1f)
  local known = PARTS[id]
  local tree = root:add(shim, b(), known and known[1] or "Part " .. id)
  tree:add(s.part, b(0, 1))
  tree:add(s.words, b(1, 1))
  tree:add(s.info, b(2, 2))
  if b:len() > 4 then tree:add(s.value, b(4)) end
  if known == nil then tree:add_proto_expert_info(unknown_part) else known[2](tree, b) end
  if seen[id] then tree:add_proto_expert_info(part_twice) end
  seen[id] = true
end

local ports = DissectorTable.get("udp.port")
local original = ports:get_dissector(ROCE_PORT)

local function dissect(buffer, pinfo, root)
  if buffer:len() > 0 and bit.band(buffer(0, 1):uint(), CLASS_MASK) == IRN_CLASS then
    return irn.dissector(buffer, pinfo, root)
  end
  return original:call(buffer, pinfo, root)
end

-- The entry: the parts of the shim, if there is one, then what stands behind them.
function shim.dissector(buffer, pinfo, root)
  local size = 0
  while buffer:len() >= size + 4 and bit.band(buffer(size, 1):uint(), CLASS_MASK) == SHIM_CLASS do
    size = size + 4 + 4 * buffer(size + 1, 1):uint()
  end
  if size == 0 then return dissect(buffer:range():tvb(), pinfo, root) end
  if size >= buffer:len() then return original:call(buffer, pinfo, root) end
  local tree = root:add(shim, buffer(0, size))
  local at, seen = 0, {}
  while at < size do
    local bytes = 4 + 4 * buffer(at + 1, 1):uint()
    add_part(tree, buffer(at, bytes):tvb(), seen)
    at = at + bytes
  end
  dissect(buffer(size):tvb(), pinfo, root)
  return buffer:len()
end

ports:add(ROCE_PORT, shim)

-- Control frames, one entry for each codec of base/wire/controls.h. Under MAC control an opcode tells them, as feedback
-- an ICMP type. An entry takes the bytes from there on and returns how many it has used, 0 if it is not one; the others
-- (PAUSE, PFC, ICMP itself) go to Wireshark's own dissectors.
local MAC_CONTROL = 0x8808
local mac_controls, icmp_types = {}, {}

local etf = Proto("etf", "rocelab Escape token (ETF)")
local marks = { [0] = "asks for a frame", [1] = "comes back: nothing waits", [2] = "comes back: no place" }
local e = {
  opcode = ProtoField.uint16("etf.opcode", "Opcode", base.HEX),
  class = ProtoField.uint8("etf.class", "Class", base.DEC),
  form = ProtoField.uint8("etf.form", "Form", base.DEC, { [0] = "IPv4", [1] = "IPv6" }),
  hops = ProtoField.uint16("etf.hops", "Hops", base.DEC),
  source = ProtoField.ipv4("etf.source", "Flow's source"),
  destination = ProtoField.ipv4("etf.destination", "Flow's destination"),
  source6 = ProtoField.ipv6("etf.source6", "Flow's source"),
  destination6 = ProtoField.ipv6("etf.destination6", "Flow's destination"),
  mark = ProtoField.uint8("etf.mark", "Mark", base.DEC, marks),
  qp = ProtoField.uint24("etf.destqp", "Flow's destination QPN", base.HEX),
  number = ProtoField.uint32("etf.number", "Number", base.HEX),
}
etf.fields = e

mac_controls[0x0102] = function(buffer, pinfo, root)
  local address = buffer:len() > 3 and buffer(3, 1):uint() == 1 and 16 or 4
  local size = 6 + 2 * address + 8
  if buffer:len() < size then return 0 end
  local v6 = address == 16
  local tree = root:add(etf, buffer(0, size))
  tree:add(e.opcode, buffer(0, 2))
  tree:add(e.class, buffer(2, 1))
  tree:add(e.form, buffer(3, 1))
  tree:add(e.hops, buffer(4, 2))
  tree:add(v6 and e.source6 or e.source, buffer(6, address))
  tree:add(v6 and e.destination6 or e.destination, buffer(6 + address, address))
  tree:add(e.mark, buffer(size - 8, 1))
  tree:add(e.qp, buffer(size - 7, 3))
  tree:add(e.number, buffer(size - 4, 4))
  pinfo.cols.protocol = "ETF"
  pinfo.cols.info = string.format("TC=%d hops=%d QP=0x%06x%s", buffer(2, 1):uint(), buffer(4, 2):uint(),
    buffer(size - 7, 3):uint(), buffer(size - 8, 1):uint() ~= 0 and " comes back" or "")
  return buffer:len()
end

local CLCM_BYTES = 18
local clcm = Proto("clcm", "rocelab Loop Breaker (credit loop control message)")
local c = {
  opcode = ProtoField.uint16("clcm.opcode", "Opcode", base.HEX),
  class = ProtoField.uint8("clcm.class", "Class", base.DEC),
  hops = ProtoField.uint16("clcm.hops", "Hops", base.DEC),
  round = ProtoField.uint32("clcm.round", "Round", base.DEC),
  id = ProtoField.uint64("clcm.id", "Identifier (SPUID)", base.HEX),
}
clcm.fields = c

mac_controls[0x0103] = function(buffer, pinfo, root)
  if buffer:len() < CLCM_BYTES then return 0 end
  local tree = root:add(clcm, buffer(0, CLCM_BYTES))
  tree:add(c.opcode, buffer(0, 2))
  tree:add(c.class, buffer(2, 1))
  tree:add(c.hops, buffer(4, 2))
  tree:add(c.round, buffer(6, 4))
  tree:add(c.id, buffer(10, 8))
  pinfo.cols.protocol = "CLCM"
  pinfo.cols.info = string.format("TC=%d hops=%d round=%d", buffer(2, 1):uint(), buffer(4, 2):uint(), buffer(6, 4):uint())
  return buffer:len()
end

local BFC_WORDS = 4
local BFC_BYTES = 4 + 8 * BFC_WORDS
local bfc = Proto("bfc", "rocelab BFC pause of queues")
local q = {
  opcode = ProtoField.uint16("bfc.opcode", "Opcode", base.HEX),
  class = ProtoField.uint8("bfc.class", "Class", base.DEC),
  word = ProtoField.uint64("bfc.queues", "Queues, 64 of them, the lowest in the lowest bit", base.HEX),
  queue = ProtoField.uint16("bfc.queue", "Paused queue", base.DEC),
}
bfc.fields = q

mac_controls[0x0104] = function(buffer, pinfo, root)
  if buffer:len() < BFC_BYTES then return 0 end
  local tree = root:add(bfc, buffer(0, BFC_BYTES))
  tree:add(q.opcode, buffer(0, 2))
  tree:add(q.class, buffer(2, 1))
  local paused = 0
  for n = 0, BFC_WORDS - 1 do
    local word = tree:add(q.word, buffer(4 + 8 * n, 8))
    for byte = 7, 0, -1 do
      local at = 4 + 8 * n + byte
      for b = 0, 7 do
        if bit.band(buffer(at, 1):uint(), bit.lshift(1, b)) ~= 0 then
          word:add(q.queue, buffer(at, 1), 64 * n + 8 * (7 - byte) + b)
          paused = paused + 1
        end
      end
    end
  end
  pinfo.cols.protocol = "BFC"
  pinfo.cols.info = string.format("TC=%d pauses %d queues", buffer(2, 1):uint(), paused)
  return buffer:len()
end

local rocc = Proto("rocc", "rocelab RoCC feedback")
local r = {
  form = ProtoField.uint8("rocc.form", "Form", base.DEC, { [0] = "rate", [1] = "queue", [2] = "all values" }),
  rate = ProtoField.uint32("rocc.rate", "Fair rate, multiples of Delta^F", base.DEC),
  destination = ProtoField.ipv4("rocc.destination", "Flow's destination"),
  qp = ProtoField.uint24("rocc.destqp", "Flow's destination QPN", base.HEX),
  period = ProtoField.uint32("rocc.period", "Period", base.DEC),
  q_cur = ProtoField.uint32("rocc.q_cur", "Q_cur, multiples of Delta^Q", base.DEC),
  q_ref = ProtoField.uint32("rocc.q_ref", "Q_ref, multiples of Delta^Q", base.DEC),
  q_mid = ProtoField.uint32("rocc.q_mid", "Q_mid, multiples of Delta^Q", base.DEC),
  q_max = ProtoField.uint32("rocc.q_max", "Q_max, multiples of Delta^Q", base.DEC),
  f_min = ProtoField.uint32("rocc.f_min", "F_min, multiples of Delta^F", base.DEC),
  f_max = ProtoField.uint32("rocc.f_max", "F_max, multiples of Delta^F", base.DEC),
  alpha = ProtoField.double("rocc.alpha", "alpha~, Delta^F per Delta^Q"),
  beta = ProtoField.double("rocc.beta", "beta~, Delta^F per Delta^Q"),
}
rocc.fields = r

local function gain(b) return b(0, 2):uint() + b(2, 4):uint() / 2 ^ 32 end

icmp_types[253] = function(buffer, pinfo, root)
  local form = buffer(1, 1):uint()
  local size = ({ [0] = 16, [1] = 24, [2] = 56 })[form]
  if size == nil or buffer:len() < size then return 0 end
  local tree = root:add(rocc, buffer(0, size))
  tree:add(r.form, buffer(1, 1))
  tree:add(r.rate, buffer(4, 4))
  tree:add(r.destination, buffer(8, 4))
  tree:add(r.qp, buffer(13, 3))
  if form > 0 then
    tree:add(r.period, buffer(16, 4))
    tree:add(r.q_cur, buffer(20, 4))
  end
  if form == 2 then
    for i, name in ipairs({ "q_ref", "q_mid", "q_max", "f_min", "f_max" }) do tree:add(r[name], buffer(20 + 4 * i, 4)) end
    tree:add(r.alpha, buffer(44, 6), gain(buffer(44, 6)))
    tree:add(r.beta, buffer(50, 6), gain(buffer(50, 6)))
  end
  pinfo.cols.protocol = "RoCC"
  pinfo.cols.info = string.format("rate=%d QP=0x%06x", buffer(4, 4):uint(), buffer(13, 3):uint())
  return buffer:len()
end

local FBP_CODE, FBP_BYTES = 3, 16
local fbp = Proto("p4qcn", "rocelab P4QCN feedback packet (FBP)")
local p = {
  depth = ProtoField.uint32("p4qcn.depth", "Queue that was found", base.DEC),
  destination = ProtoField.ipv4("p4qcn.destination", "Flow's destination"),
  qp = ProtoField.uint24("p4qcn.destqp", "Flow's destination QPN", base.HEX),
}
fbp.fields = p

local rocc_feedback = icmp_types[253]
icmp_types[253] = function(buffer, pinfo, root)
  if buffer(1, 1):uint() ~= FBP_CODE then return rocc_feedback(buffer, pinfo, root) end
  if buffer:len() < FBP_BYTES then return 0 end
  local tree = root:add(fbp, buffer(0, FBP_BYTES))
  tree:add(p.depth, buffer(4, 4))
  tree:add(p.destination, buffer(8, 4))
  tree:add(p.qp, buffer(13, 3))
  pinfo.cols.protocol = "P4QCN"
  pinfo.cols.info = string.format("queue=%d QP=0x%06x", buffer(4, 4):uint(), buffer(13, 3):uint())
  return buffer:len()
end

-- QCN's congestion notification message, IEEE 802.1Q.
local CNM_ETHERTYPE, CNM_BYTES = 0x22e7, 24
local cnm = Proto("qcn_cnm", "QCN congestion notification message (CNM)")
local n = {
  version = ProtoField.uint8("qcn_cnm.version", "Version", base.DEC, nil, 0xf0),
  feedback = ProtoField.uint8("qcn_cnm.feedback", "Quantised feedback", base.DEC, nil, 0x3f),
  cpid = ProtoField.uint64("qcn_cnm.cpid", "CPID", base.HEX),
  offset = ProtoField.int16("qcn_cnm.qoffset", "cnmQOffset, units of 64 octets", base.DEC),
  delta = ProtoField.int16("qcn_cnm.qdelta", "cnmQDelta, units of 64 octets", base.DEC),
  priority = ProtoField.uint16("qcn_cnm.priority", "Encapsulated priority", base.DEC, nil, 0xe000),
  destination = ProtoField.ether("qcn_cnm.destination", "Encapsulated destination MAC"),
  length = ProtoField.uint16("qcn_cnm.length", "Encapsulated MSDU length", base.DEC),
  msdu = ProtoField.bytes("qcn_cnm.msdu", "Encapsulated MSDU"),
}
cnm.fields = n

function cnm.dissector(buffer, pinfo, root)
  if buffer:len() < CNM_BYTES then return 0 end
  local length = math.min(buffer(22, 2):uint(), buffer:len() - CNM_BYTES)
  local tree = root:add(cnm, buffer(0, CNM_BYTES + length))
  tree:add(n.version, buffer(0, 1))
  tree:add(n.feedback, buffer(1, 1))
  tree:add(n.cpid, buffer(2, 8))
  tree:add(n.offset, buffer(10, 2))
  tree:add(n.delta, buffer(12, 2))
  tree:add(n.priority, buffer(14, 2))
  tree:add(n.destination, buffer(16, 6))
  tree:add(n.length, buffer(22, 2))
  if length > 0 then tree:add(n.msdu, buffer(24, length)) end
  pinfo.cols.protocol = "CNM"
  pinfo.cols.info = string.format("feedback=%d", buffer(1, 1):bitfield(2, 6))
  return buffer:len()
end

local mac_control = Proto("rocelab_mac_control", "rocelab MAC control")
local ethertypes = DissectorTable.get("ethertype")
local own_mac_control = ethertypes:get_dissector(MAC_CONTROL)

function mac_control.dissector(buffer, pinfo, root)
  local one = buffer:len() >= 2 and mac_controls[buffer(0, 2):uint()]
  local used = one and one(buffer, pinfo, root) or 0
  return used > 0 and used or own_mac_control:call(buffer, pinfo, root)
end
ethertypes:add(MAC_CONTROL, mac_control)
ethertypes:add(CNM_ETHERTYPE, cnm)

-- ICMP has no table of types: what it makes of an unknown one stays, and the entry follows.
local icmp_feedback = Proto("rocelab_feedback", "rocelab feedback")
local icmp_type = Field.new("icmp.type")

function icmp_feedback.dissector(buffer, pinfo, root)
  local kind = icmp_type()
  local one = kind and icmp_types[kind.value]
  if one and buffer:len() >= kind.offset + 4 then one(buffer(kind.offset):tvb(), pinfo, root) end
end
register_postdissector(icmp_feedback)
