// IrnResponder: the side of an IRN QP that receives requests. Packets are placed in application memory as
// they come, in order or not; messages complete in order only: MSN, receive WQEs, CQEs and READs wait until
// everything before them has arrived. Source: Mittal, 4.4.3 (out-of-order delivery: RETH in every WRITE
// packet, recv_WQE_SN and offset, read WQE buffer, 2-bitmap and premature CQEs) and 4.4.4 (credits, probes,
// NACKs due to other errors). What a packet out of sequence would be refused for is not answered: it is
// dropped, and comes again once everything before it is there. Only the packet that is expected draws an RNR
// NAK or an error NAK; an error NAK, which ends the connection, when the READs before it have been answered.
//
// RC3 (Mittal, 2.3.1): a packet of a lower level is taken as any other, and its answer, which says the same
// (the true cumulative value, and the packet), leaves at the level of the packet. Answers of all levels say
// by blocks what is held above a gap when they leave. A packet that would be refused
// is dropped whatever its place: TCP's copy draws what is due, and no shared receive WQE is taken for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "irn_provider/transport/answer_queue.h"
#include "irn_provider/transport/irn_read_responder.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/path_echo.h"
#include "irn_provider/transport/qp_context.h"
#include "irn_provider/transport/receive_queue.h"
#include "irn_provider/transport/responder.h"

namespace rocelab {

class IrnResponder final : public Responder {
 public:
  IrnResponder(QpContext& qp, ReceiveQueue& receive_queue);

  void start(Time now) override;
  void refresh() override { reads_.refresh(); }
  std::optional<UnwrappedPsn> expected_psn() const override { return receiver_->expected(); }
  void on_request(const Packet& packet, const OpcodeInfo& info, Time now) override;
  void on_read_ack(const Packet& packet, const OpcodeInfo& info, Time now) override;
  void flush(Time now) override;
  bool has_ack() const override { return !answers_.empty(); }
  unsigned next_ack_level() const override { return answers_.next_level(); }
  void pull_ack(Packet& packet, Time now) override;
  bool has_data() const override { return reads_.has_data(); }
  PayloadSource pull_data(Packet& packet, Time now) override;
  unsigned next_data_level() const override { return reads_.next_level(); }
  Time not_before() const override { return reads_.not_before(); }
  void on_timeout(Time now) override;
  Time next_timeout() const override { return reads_.next_timeout(); }

 private:
  // What becomes of a packet that arrives in order. Out of order everything but kAccept is a silent drop.
  enum class Verdict : std::uint8_t {
    kAccept,
    kRnr,
    kInvalidRequest,
    kRemoteAccess,
    kTooLong,
    kLocalProtection
  };

  enum class Ending : std::uint8_t { kWrite, kWriteImm, kSend, kRead };  // an atomic ends as a READ

  // What a message's last packet says, kept until all packets before it are there: the premature CQE
  // of 4.4.3.
  struct LastPacket {
    UnwrappedPsn psn = -1;
    Ending ending = Ending::kWrite;
    bool has_imm = false;
    bool invalidates = false;
    bool solicited = false;
    std::uint32_t imm = 0;
    std::uint32_t tail = 0;  // bytes of the last packet
    std::int64_t sn = 0;     // recv_WQE_SN or read_WQE_SN, unwrapped
    UnwrappedPsn first = 0;  // SEND: PSN of the message's first packet, by its offset
  };

  struct Answer {
    UnwrappedPsn psn = 0;      // cumulative value, or the refused packet
    UnwrappedPsn trigger = 0;  // the packet that draws it; above psn: it came instead
    std::optional<std::uint8_t> syndrome =
        {};  // RNR or error NAK; otherwise credits as they are when it leaves
    std::uint32_t msn = 0;
    bool marked = false;  // the packet that it answers came with an ECN mark
  };

  Verdict check(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn) const;
  Verdict check_send(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn) const;
  Verdict check_write(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn) const;
  Verdict check_read(const Packet& packet, UnwrappedPsn psn) const;
  Verdict check_atomic(const Packet& packet, UnwrappedPsn psn) const;
  bool read_slot_free(const Packet& packet, UnwrappedPsn psn) const;
  Verdict check_receive_wqe(std::int64_t sn, UnwrappedPsn psn) const;
  bool within_reach(std::int64_t sn, UnwrappedPsn psn) const;
  std::optional<UnwrappedPsn> message_without_wqe(UnwrappedPsn psn);
  void accept(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now);
  void place(const Packet& packet, const OpcodeInfo& info);
  void remember_last(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now);
  bool complete_in_order(std::uint32_t messages, Time now);
  bool complete_next(const LastPacket& last, Time now);
  bool complete(const LastPacket& last, Time now);
  void refuse(Verdict verdict, UnwrappedPsn psn, Time now);
  void refuse_held(Time now);
  void fail(std::uint8_t nak, UnwrappedPsn psn, bool by_cqe);
  void answer(UnwrappedPsn psn);
  void push_answer(Answer answer);
  void put(Packet& packet, const Answer& answer) const;
  void on_low_request(const Packet& packet, const OpcodeInfo& info, UnwrappedPsn psn, Time now);
  bool takes_early(const OpcodeInfo& info) const;

  std::int64_t receive_sn(const Packet& packet) const;
  std::int64_t read_sn(const Packet& packet) const;
  std::uint32_t mtu() const { return qp_.attr.path_mtu; }
  std::uint8_t credits() const;
  std::vector<LastPacket>::iterator find_last(UnwrappedPsn psn);  // of that PSN, or the next one; or the end

  QpContext& qp_;
  ReceiveQueue& receive_queue_;
  IrnReadResponder reads_;
  std::optional<IrnReceiver> receiver_;  // over sPSN
  std::vector<LastPacket> last_;         // that have arrived of messages that are not complete, by PSN
  AnswerQueue<Answer> answers_;
  PathEcho echo_;                    // beside answers_ of the primary's level
  Verdict held_ = Verdict::kAccept;  // of the packet that is expected and came: not answered yet
  std::uint32_t msn_ = 0;
  std::uint8_t level_ = 0;          // of the packet in hand
  bool marked_ = false;             // the packet in hand has an ECN mark
  UnwrappedPsn message_start_ = 0;  // first PSN of the oldest message that is not complete
};

}  // namespace rocelab
