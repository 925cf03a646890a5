// rocelab_gateway --host h2 --interface wire0 --management h2-eth0 --base-rtt-ps 43000000
//
// Runs in the host's network namespace; $ROCELAB_SEGMENT names the run's shared memory. Prints a JSON line
// when the device is plugged in and one, its report, at the end: SIGINT, SIGTERM, or the end of the run.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

#include "emu/gateway/gateway.h"

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: rocelab_gateway --host NAME --interface DEVICE --management DEVICE --base-rtt-ps N\n");
  return 2;
}

int run(std::map<std::string, std::string>& options) {
  const char* path = std::getenv("ROCELAB_SEGMENT");
  if (path == nullptr) throw std::runtime_error("ROCELAB_SEGMENT is not set: use ./rocelab plug");
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
  const auto segment = rocelab::lockstep::Segment::open(path);
  rocelab::Interface device(options["--interface"]), around(options["--management"]);
  const auto base_rtt = rocelab::Duration::from_ps(std::stoll(options["--base-rtt-ps"]));
  rocelab::Gateway gateway(segment, options["--host"], base_rtt, device, around);
  std::printf("{\"ready\": true}\n");
  std::fflush(stdout);
  gateway.run(stop);
  std::printf("%s\n", gateway.report().to_json().c_str());
  close(stop);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  for (const char* wanted : {"--host", "--interface", "--management", "--base-rtt-ps"})
    if (argc != 9 || !options.contains(wanted)) return usage();
  try {
    return run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab: %s\n", e.what());
    return 1;
  }
}
