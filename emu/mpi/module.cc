// The module `_rocelab_mpi`. `_rocelab` is imported before it: it has the class that MpiPeers is one of.
#include <pybind11/pybind11.h>

#include <string_view>
#include <vector>

#include "emu/mpi/mpi_peers.h"

namespace py = pybind11;
using namespace py::literals;

namespace rocelab::mpi {
namespace {

// One process's bytes for each rank, and the others' for this one; None for the own.
py::list exchange_bytes(MpiPeers& peers, const py::sequence& out) {
  std::vector<des::Peers::Buffer> buffers(peers.ranks());
  if (out.size() != buffers.size()) throw py::value_error("one bytes object for each process");
  for (std::size_t r = 0; r < buffers.size(); ++r) {
    const std::string_view bytes = py::cast<py::bytes>(out[r]);
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    buffers[r].assign(first, first + bytes.size());
  }
  std::vector<des::Peers::Buffer> in;
  {
    const py::gil_scoped_release released;
    in = peers.exchange(buffers);
  }
  py::list list;
  for (const des::Peers::Buffer& buffer : in)
    list.append(py::bytes(reinterpret_cast<const char*>(buffer.data()), buffer.size()));
  return list;
}

}  // namespace
}  // namespace rocelab::mpi

PYBIND11_MODULE(_rocelab_mpi, m) {
  using rocelab::mpi::MpiPeers;
  m.doc() = "The processes that mpirun has started, as the peers of a run in virtual time.";
  py::class_<MpiPeers, rocelab::des::Peers>(m, "MpiPeers")
      .def(py::init<>(), "Starts MPI.")
      .def_property_readonly("rank", &MpiPeers::rank)
      .def_property_readonly("ranks", &MpiPeers::ranks)
      .def("exchange", &rocelab::mpi::exchange_bytes, "out"_a,
           "A bytes object for each rank; returns what each has sent here. All ranks call it equally often.")
      .def_property_readonly("waited_s", &MpiPeers::waited_s,
                             "Seconds in exchange() so far: for the others, and for the network.")
      .def_property_readonly("sent_bytes", &MpiPeers::sent_bytes, "Bytes to the others so far.")
      .def("close", &MpiPeers::close, "Ends MPI, together with the others.")
      .def_static("abort", &MpiPeers::abort, "status"_a, "Ends all processes.");
}
