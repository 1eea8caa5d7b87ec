* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME placement
OBJSENSE
 MIN
ROWS
 N  iteration_time
 E  c_e_replicas(0)_
 E  c_e_replicas(1)_
 L  c_u_capacity(0)_
 L  c_u_capacity(1)_
 L  c_u_capacity(2)_
 L  c_u_one_count(0_0)_
 L  c_u_one_count(0_1)_
 L  c_u_one_count(0_2)_
 L  c_u_one_count(1_0)_
 L  c_u_one_count(1_1)_
 L  c_u_one_count(1_2)_
 L  c_u_slowest(0_0)_
 L  c_u_slowest(0_1)_
 L  c_u_slowest(0_2)_
 L  c_u_slowest(1_0)_
 L  c_u_slowest(1_1)_
 L  c_u_slowest(1_2)_
 L  c_u_neighbours(0_0)_
 L  c_u_neighbours(0_1)_
 L  c_u_neighbours(0_2)_
 L  c_u_neighbours(1_0)_
 L  c_u_neighbours(1_1)_
 L  c_u_neighbours(1_2)_
 L  c_u_limited(0_0)_
 L  c_u_limited(0_1)_
 L  c_u_limited(0_2)_
 L  c_u_limited(1_0)_
 L  c_u_limited(1_1)_
 L  c_u_limited(1_2)_
 L  c_u_at_best(0_0)_
 L  c_u_at_best(0_1)_
 L  c_u_at_best(0_2)_
 L  c_u_at_best(1_0)_
 L  c_u_at_best(1_1)_
 L  c_u_at_best(1_2)_
COLUMNS
     place(0_0_1_1) c_e_replicas(0)_ 1
     place(0_0_1_1) c_u_capacity(0)_ 1
     place(0_0_1_1) c_u_one_count(0_0)_ 1
     place(0_0_1_1) c_u_slowest(0_0)_ 1.1578947368421053
     place(0_0_1_1) c_u_neighbours(1_0)_ -0.15789473684210528
     place(0_0_1_1) c_u_limited(0_0)_ -0.15789473684210528
     place(0_0_1_1) c_u_at_best(0_0)_ 1
     place(0_0_2_2) c_e_replicas(0)_ 2
     place(0_0_2_2) c_u_capacity(0)_ 2
     place(0_0_2_2) c_u_one_count(0_0)_ 1
     place(0_0_2_2) c_u_slowest(0_0)_ 0.80701754385964908
     place(0_0_2_2) c_u_neighbours(1_0)_ -0.31578947368421056
     place(0_0_2_2) c_u_at_best(0_0)_ 0.80701754385964908
     place(0_1_1_1) c_e_replicas(0)_ 1
     place(0_1_1_1) c_u_capacity(1)_ 1
     place(0_1_1_1) c_u_one_count(0_1)_ 1
     place(0_1_1_1) c_u_slowest(0_1)_ 1.1578947368421053
     place(0_1_1_1) c_u_neighbours(1_1)_ -0.15789473684210528
     place(0_1_1_1) c_u_limited(0_1)_ -0.15789473684210528
     place(0_1_1_1) c_u_at_best(0_1)_ 1
     place(0_1_2_2) c_e_replicas(0)_ 2
     place(0_1_2_2) c_u_capacity(1)_ 2
     place(0_1_2_2) c_u_one_count(0_1)_ 1
     place(0_1_2_2) c_u_slowest(0_1)_ 0.80701754385964908
     place(0_1_2_2) c_u_neighbours(1_1)_ -0.31578947368421056
     place(0_1_2_2) c_u_at_best(0_1)_ 0.80701754385964908
     place(0_2_1_1) c_e_replicas(0)_ 1
     place(0_2_1_1) c_u_capacity(2)_ 1
     place(0_2_1_1) c_u_one_count(0_2)_ 1
     place(0_2_1_1) c_u_slowest(0_2)_ 1.1578947368421053
     place(0_2_1_1) c_u_neighbours(1_2)_ -0.15789473684210528
     place(0_2_1_1) c_u_at_best(0_2)_ 1.1578947368421053
     place(1_0_1_1) c_e_replicas(1)_ 1
     place(1_0_1_1) c_u_capacity(0)_ 1
     place(1_0_1_1) c_u_one_count(1_0)_ 1
     place(1_0_1_1) c_u_slowest(1_0)_ 0.86842105263157898
     place(1_0_1_1) c_u_neighbours(0_0)_ -0.15789473684210528
     place(1_0_1_1) c_u_limited(1_0)_ -0.15789473684210528
     place(1_0_1_1) c_u_at_best(1_0)_ 0.71052631578947367
     place(1_0_2_2) c_e_replicas(1)_ 2
     place(1_0_2_2) c_u_capacity(0)_ 2
     place(1_0_2_2) c_u_one_count(1_0)_ 1
     place(1_0_2_2) c_u_slowest(1_0)_ 0.67894736842105274
     place(1_0_2_2) c_u_neighbours(0_0)_ -0.31578947368421056
     place(1_0_2_2) c_u_at_best(1_0)_ 0.67894736842105274
     place(1_1_1_1) c_e_replicas(1)_ 1
     place(1_1_1_1) c_u_capacity(1)_ 1
     place(1_1_1_1) c_u_one_count(1_1)_ 1
     place(1_1_1_1) c_u_slowest(1_1)_ 0.86842105263157898
     place(1_1_1_1) c_u_neighbours(0_1)_ -0.15789473684210528
     place(1_1_1_1) c_u_limited(1_1)_ -0.15789473684210528
     place(1_1_1_1) c_u_at_best(1_1)_ 0.71052631578947367
     place(1_1_2_2) c_e_replicas(1)_ 2
     place(1_1_2_2) c_u_capacity(1)_ 2
     place(1_1_2_2) c_u_one_count(1_1)_ 1
     place(1_1_2_2) c_u_slowest(1_1)_ 0.67894736842105274
     place(1_1_2_2) c_u_neighbours(0_1)_ -0.31578947368421056
     place(1_1_2_2) c_u_at_best(1_1)_ 0.67894736842105274
     place(1_2_1_1) c_e_replicas(1)_ 1
     place(1_2_1_1) c_u_capacity(2)_ 1
     place(1_2_1_1) c_u_one_count(1_2)_ 1
     place(1_2_1_1) c_u_slowest(1_2)_ 0.86842105263157898
     place(1_2_1_1) c_u_neighbours(0_2)_ -0.15789473684210528
     place(1_2_1_1) c_u_at_best(1_2)_ 0.86842105263157898
     saving(0_0) c_u_slowest(0_0)_ -1
     saving(0_0) c_u_neighbours(0_0)_ 1
     saving(0_0) c_u_limited(0_0)_ 1
     saving(0_1) c_u_slowest(0_1)_ -1
     saving(0_1) c_u_neighbours(0_1)_ 1
     saving(0_1) c_u_limited(0_1)_ 1
     saving(0_2) c_u_slowest(0_2)_ -1
     saving(0_2) c_u_neighbours(0_2)_ 1
     saving(0_2) c_u_limited(0_2)_ 1
     saving(1_0) c_u_slowest(1_0)_ -1
     saving(1_0) c_u_neighbours(1_0)_ 1
     saving(1_0) c_u_limited(1_0)_ 1
     saving(1_1) c_u_slowest(1_1)_ -1
     saving(1_1) c_u_neighbours(1_1)_ 1
     saving(1_1) c_u_limited(1_1)_ 1
     saving(1_2) c_u_slowest(1_2)_ -1
     saving(1_2) c_u_neighbours(1_2)_ 1
     saving(1_2) c_u_limited(1_2)_ 1
     alpha iteration_time 1
     alpha c_u_slowest(0_0)_ -1
     alpha c_u_slowest(0_1)_ -1
     alpha c_u_slowest(0_2)_ -1
     alpha c_u_slowest(1_0)_ -1
     alpha c_u_slowest(1_1)_ -1
     alpha c_u_slowest(1_2)_ -1
     alpha c_u_at_best(0_0)_ -1
     alpha c_u_at_best(0_1)_ -1
     alpha c_u_at_best(0_2)_ -1
     alpha c_u_at_best(1_0)_ -1
     alpha c_u_at_best(1_1)_ -1
     alpha c_u_at_best(1_2)_ -1
RHS
     RHS c_e_replicas(0)_ 3
     RHS c_e_replicas(1)_ 2
     RHS c_u_capacity(0)_ 2
     RHS c_u_capacity(1)_ 2
     RHS c_u_capacity(2)_ 1
     RHS c_u_one_count(0_0)_ 1
     RHS c_u_one_count(0_1)_ 1
     RHS c_u_one_count(0_2)_ 1
     RHS c_u_one_count(1_0)_ 1
     RHS c_u_one_count(1_1)_ 1
     RHS c_u_one_count(1_2)_ 1
     RHS c_u_slowest(0_0)_ 0
     RHS c_u_slowest(0_1)_ 0
     RHS c_u_slowest(0_2)_ 0
     RHS c_u_slowest(1_0)_ 0
     RHS c_u_slowest(1_1)_ 0
     RHS c_u_slowest(1_2)_ 0
     RHS c_u_neighbours(0_0)_ 0
     RHS c_u_neighbours(0_1)_ 0
     RHS c_u_neighbours(0_2)_ 0
     RHS c_u_neighbours(1_0)_ 0
     RHS c_u_neighbours(1_1)_ 0
     RHS c_u_neighbours(1_2)_ 0
     RHS c_u_limited(0_0)_ 0
     RHS c_u_limited(0_1)_ 0
     RHS c_u_limited(0_2)_ 0
     RHS c_u_limited(1_0)_ 0
     RHS c_u_limited(1_1)_ 0
     RHS c_u_limited(1_2)_ 0
     RHS c_u_at_best(0_0)_ 0
     RHS c_u_at_best(0_1)_ 0
     RHS c_u_at_best(0_2)_ 0
     RHS c_u_at_best(1_0)_ 0
     RHS c_u_at_best(1_1)_ 0
     RHS c_u_at_best(1_2)_ 0
BOUNDS
 BV BOUND place(0_0_1_1)
 BV BOUND place(0_0_2_2)
 BV BOUND place(0_1_1_1)
 BV BOUND place(0_1_2_2)
 BV BOUND place(0_2_1_1)
 BV BOUND place(1_0_1_1)
 BV BOUND place(1_0_2_2)
 BV BOUND place(1_1_1_1)
 BV BOUND place(1_1_2_2)
 BV BOUND place(1_2_1_1)
 LO BOUND saving(0_0) 0
 LO BOUND saving(0_1) 0
 LO BOUND saving(0_2) 0
 LO BOUND saving(1_0) 0
 LO BOUND saving(1_1) 0
 LO BOUND saving(1_2) 0
 LO BOUND alpha 0.86842105176315643
 UP BOUND alpha 2.3157894736842106
ENDATA
