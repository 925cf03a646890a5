// What was made with a context and is not destroyed yet. A kernel destroys it when the program closes the
// device, ends or dies (ib_uverbs_close); here ibv_close_device does. Everything under the process's lock.
#pragma once

#include <list>

namespace rocelab {
class Nic;
}

namespace rocelab::verbs {

struct Ah;
struct Channel;
struct Context;
struct Cq;
struct Mr;
struct Mw;
struct Pd;
struct Qp;
struct Srq;
struct Td;
struct Xrcd;

// Objects of one kind, in the order of their making. Each knows its place.
template <class T>
class Kept {
 public:
  using Place = typename std::list<T*>::iterator;
  void add(T& object) { object.place = all_.insert(all_.end(), &object); }
  void remove(T& object) { all_.erase(object.place); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::list<T*> all_;
};

struct ContextObjects {
  Kept<Qp> qps;
  Kept<Mw> mws;
  Kept<Srq> srqs;
  Kept<Xrcd> xrcds;
  Kept<Cq> cqs;
  Kept<Channel> channels;
  Kept<Ah> ahs;
  Kept<Mr> mrs;
  Kept<Pd> pds;  // parent domains, too
  Kept<Td> tds;
};

// Takes an object from the NIC, the registry and the events that wait. False: something uses it, and nothing
// has changed. What the program holds pointers to stays.
bool end(Nic& nic, Qp& qp);
bool end(Nic& nic, Mw& mw);
bool end(Nic& nic, Srq& srq);
bool end(Nic& nic, Xrcd& xrcd);
bool end(Nic& nic, Cq& cq);
bool end(Nic& nic, Channel& channel);
bool end(Nic& nic, Ah& ah);
bool end(Nic& nic, Mr& mr);
bool end(Nic& nic, Pd& pd);
bool end(Nic& nic, Td& td);

// Ends all that belongs to a context that is about to go, multicast memberships as well.
void end_belongings(Context& context);

}  // namespace rocelab::verbs
