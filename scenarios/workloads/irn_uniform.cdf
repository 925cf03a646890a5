# The storage mix of the IRN paper (table 4.5): uniform from 500 KB to 5 MB.
500000 0
5000000 100
