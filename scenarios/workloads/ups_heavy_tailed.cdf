# Flow sizes of the UPS and RC3 evaluations (Mittal, chapters 2 and 5), in packets of 1024 B: the eleven sizes and their shares as the group
# published them (NetSys/simulator, CDF_aditya.txt). For cdf_form = "steps". Mean 184.5 packets.
1024 50
2048 60
3072 70
5120 75
7168 80
40960 81.25
73728 82.5
140288 85
273408 90
1215488 95
2157568 100
