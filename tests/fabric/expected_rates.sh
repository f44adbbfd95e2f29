# What `duet fabric` reaches over four rails of 1 Gbit/s, however its two processes are started. To be
# sourced after check.sh, with the rails open and
#   ends ARGUMENT...    runs both, on all rails and without a warm-up, with the table table.csv
#   least_one_by_one    the least percentage for messages that wait for each other; default 95
reaches "one rail" 96 101 ends write --rail-mode single --sizes 64M --window 1 --iterations 3
reaches "split, one buffer of 256 MB" 97 101 \
  ends write --rail-mode split --sizes 256MB --window 1 --iterations 3
reaches "round_robin, many buffers" 95 101 \
  ends write --rail-mode round_robin --sizes 4M --window 8 --messages 64 --iterations 3
reaches "round_robin, one buffer" 23.5 25.3 \
  ends write --rail-mode round_robin --sizes 64M --window 1 --messages 1 --iterations 3
reaches "send_recv, near half" 44 50.5 \
  ends send_recv --rail-mode single --sizes 16M --window 1 --iterations 3
reaches "256 KiB, window 1" "${least_one_by_one:-95}" 101 \
  ends write --rail-mode single --sizes 256K --window 1 --messages 64 --iterations 5
reaches "256 KiB, window 8" 95 101 \
  ends write --rail-mode single --sizes 256K --window 8 --messages 64 --iterations 5
