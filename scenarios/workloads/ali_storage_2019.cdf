# Alibaba storage cluster, 2019, as the HPCC simulator ships it: github.com/alibaba-edu/High-Precision-Congestion-Control, traffic_gen/AliStorage2019.txt
0 0
4000 22.93
8000 69.21
16000 80.61
32000 90.47
64000 93.53
128000 96.77
256000 97.53
2000000 100
