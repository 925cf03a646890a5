"""A virtual machine with a stock Linux kernel and its Soft-RoCE (rdma_rxe): a RoCE stack that is not ours, as a host of a topology."""
