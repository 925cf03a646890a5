# Alibaba Solar storage (SIGCOMM 2022), as the ConWeave simulator ships it: github.com/conweave-project/conweave-ns3, traffic_gen/Solar2022.txt
0 0
4095 0.001
4096 30.0
16383 35.0
16384 50.0
65535 60.0
65536 95.0
262144 100.0
