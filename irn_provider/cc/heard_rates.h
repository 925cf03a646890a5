// HeardRates: an algorithm, and somebody who hears of each rate that it sets
// (`congestion_control.trace_rates`). It decides nothing: what an algorithm does is the same with and without
// it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "irn_provider/cc/congestion_control.h"

namespace rocelab {

class HeardRates final : public CongestionControl {
 public:
  // `now`: of the event that set the rate or, of timers, of the first look after they were due.
  using Hear = std::function<void(Rate rate, Time now)>;

  HeardRates(std::unique_ptr<CongestionControl> algorithm, Hear hear)
      : algorithm_(std::move(algorithm)), hear_(std::move(hear)) {}

  void seed(const Rng& rng) override { algorithm_->seed(rng); }
  void start(Time now) override {
    algorithm_->start(now);
    last_ = Rate{};
    look(now);
  }
  void on_sent(Bytes frame, Time now) override {
    look(now);
    algorithm_->on_sent(frame, now);
    look(now);
  }
  void on_ack(const CcAck& ack, Time now) override {
    look(now);
    algorithm_->on_ack(ack, now);
    look(now);
  }
  void on_rtt(const RttSample& sample, Time now) override {
    look(now);
    algorithm_->on_rtt(sample, now);
    look(now);
  }
  void on_loss(CcLoss loss, Time now) override {
    look(now);
    algorithm_->on_loss(loss, now);
    look(now);
  }
  void on_cnp(Time now) override {
    look(now);
    algorithm_->on_cnp(now);
    look(now);
  }
  FeedbackResult on_feedback(const Packet& feedback, Time now) override {
    look(now);
    const FeedbackResult result = algorithm_->on_feedback(feedback, now);
    look(now);
    return result;
  }
  RcpHeader path_request() const override { return algorithm_->path_request(); }
  Rate rate(Time now) override { return look(now); }
  Time next_change() const override { return algorithm_->next_change(); }
  std::int64_t window() const override { return algorithm_->window(); }

 private:
  // Each change of a timer that was due, and then the present rate.
  Rate look(Time now) {
    for (Time due = algorithm_->next_change(); due < now;) {
      hear(algorithm_->rate(due), now);
      const Time next = algorithm_->next_change();
      if (next <= due) break;
      due = next;
    }
    const Rate rate = algorithm_->rate(now);
    hear(rate, now);
    return rate;
  }
  void hear(Rate rate, Time now) {
    if (rate == last_) return;
    last_ = rate;
    hear_(rate, now);
  }

  std::unique_ptr<CongestionControl> algorithm_;
  Hear hear_;
  Rate last_;
};

}  // namespace rocelab
