// A program that is not linked with libibverbs: it opens the library and looks every function up by name and
// version, then sends itself a message over two connected queue pairs. Exit status 0: it arrived.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef ibv_reg_mr

namespace {

void* g_library = nullptr;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

template <class F>
F* look_up(F*, const char* name) {
  void* symbol = dlvsym(g_library, name, "IBVERBS_1.1");
  require(symbol != nullptr, name);
  return reinterpret_cast<F*>(symbol);
}
#define CALL(name) look_up(static_cast<decltype(&::name)>(nullptr), #name)

ibv_qp_attr rts_attributes(const ibv_gid& gid, std::uint32_t peer, ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  a.port_num = 1;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer;
  a.max_dest_rd_atomic = a.max_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.dgid = gid;
  a.ah_attr.grh.sgid_index = 1;
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.port_num = 1;
  return a;
}

void connect(ibv_qp* qp, const ibv_gid& gid, std::uint32_t peer) {
  const auto modify = CALL(ibv_modify_qp);
  ibv_qp_attr a = rts_attributes(gid, peer, IBV_QPS_INIT);
  require(modify(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  a.qp_state = IBV_QPS_RTR;
  require(modify(qp, &a,
                 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
  a.qp_state = IBV_QPS_RTS;
  require(modify(qp, &a,
                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                     IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "RTS");
}

}  // namespace

int main() {
  g_library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  require(g_library != nullptr, "dlopen");
  require(std::strcmp(CALL(ibv_wc_status_str)(IBV_WC_SUCCESS), "success") == 0, "the library's own function");
  int count = 0;
  ibv_device** list = CALL(ibv_get_device_list)(&count);
  require(list != nullptr && count == 1, "a device");
  std::printf("%s\n", CALL(ibv_get_device_name)(list[0]));
  ibv_context* context = CALL(ibv_open_device)(list[0]);
  require(context != nullptr, "ibv_open_device");
  ibv_gid gid{};
  require(CALL(ibv_query_gid)(context, 1, 1, &gid) == 0, "ibv_query_gid");
  ibv_pd* pd = CALL(ibv_alloc_pd)(context);
  ibv_cq* cq = CALL(ibv_create_cq)(context, 8, nullptr, nullptr, 0);
  char memory[128] = "ping";
  ibv_mr* mr = CALL(ibv_reg_mr)(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  require(pd != nullptr && cq != nullptr && mr != nullptr, "objects");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* a = CALL(ibv_create_qp)(pd, &init);
  ibv_qp* b = CALL(ibv_create_qp)(pd, &init);
  require(a != nullptr && b != nullptr, "ibv_create_qp");
  connect(a, gid, b->qp_num);
  connect(b, gid, a->qp_num);
  ibv_sge from{.addr = reinterpret_cast<std::uintptr_t>(memory), .length = 64, .lkey = mr->lkey};
  ibv_sge to{.addr = from.addr + 64, .length = 64, .lkey = mr->lkey};
  ibv_recv_wr receive{}, *bad_receive = nullptr;
  receive.sg_list = &to;
  receive.num_sge = 1;
  ibv_send_wr send{}, *bad_send = nullptr;
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  require(ibv_post_recv(b, &receive, &bad_receive) == 0 && ibv_post_send(a, &send, &bad_send) == 0,
          "posting");
  for (int done = 0; done < 2;) {
    ibv_wc wc{};
    const int n = ibv_poll_cq(cq, 1, &wc);
    require(n >= 0 && (n == 0 || wc.status == IBV_WC_SUCCESS), "a completion");
    done += n;
  }
  require(std::strcmp(memory + 64, "ping") == 0, "the message");
  std::printf("arrived\n");
  return 0;
}
