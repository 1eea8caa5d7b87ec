* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME makespan
OBJSENSE
 MIN
ROWS
 N  makespan
 E  c_e_runs_once(0)_
 E  c_e_runs_once(1)_
 L  c_u_ends(0)_
 L  c_u_ends(1)_
 E  c_e_all_gpus(0)_
 E  c_e_all_gpus(1)_
 E  c_e_all_servers(0)_
 E  c_e_all_servers(1)_
 L  c_u_at_least_one(0_0)_
 L  c_u_at_least_one(0_1)_
 L  c_u_at_least_one(0_2)_
 L  c_u_at_least_one(1_0)_
 L  c_u_at_least_one(1_1)_
 L  c_u_at_least_one(1_2)_
 L  c_u_only_if_used(0_0)_
 L  c_u_only_if_used(0_1)_
 L  c_u_only_if_used(0_2)_
 L  c_u_only_if_used(1_0)_
 L  c_u_only_if_used(1_1)_
 L  c_u_only_if_used(1_2)_
 L  c_u_held_running(0_0_0)_
 L  c_u_held_running(0_0_1)_
 L  c_u_held_running(0_0_2)_
 L  c_u_held_running(0_0_3)_
 L  c_u_held_running(0_0_4)_
 L  c_u_held_running(0_0_5)_
 L  c_u_held_running(0_1_0)_
 L  c_u_held_running(0_1_1)_
 L  c_u_held_running(0_1_2)_
 L  c_u_held_running(0_1_3)_
 L  c_u_held_running(0_1_4)_
 L  c_u_held_running(0_1_5)_
 L  c_u_held_running(0_2_0)_
 L  c_u_held_running(0_2_1)_
 L  c_u_held_running(0_2_2)_
 L  c_u_held_running(0_2_3)_
 L  c_u_held_running(0_2_4)_
 L  c_u_held_running(0_2_5)_
 L  c_u_held_running(1_0_0)_
 L  c_u_held_running(1_0_1)_
 L  c_u_held_running(1_0_2)_
 L  c_u_held_running(1_0_3)_
 L  c_u_held_running(1_0_4)_
 L  c_u_held_running(1_0_5)_
 L  c_u_held_running(1_1_0)_
 L  c_u_held_running(1_1_1)_
 L  c_u_held_running(1_1_2)_
 L  c_u_held_running(1_1_3)_
 L  c_u_held_running(1_1_4)_
 L  c_u_held_running(1_1_5)_
 L  c_u_held_running(1_2_0)_
 L  c_u_held_running(1_2_1)_
 L  c_u_held_running(1_2_2)_
 L  c_u_held_running(1_2_3)_
 L  c_u_held_running(1_2_4)_
 L  c_u_held_running(1_2_5)_
 L  c_u_held_no_more(0_0_0)_
 L  c_u_held_no_more(0_0_1)_
 L  c_u_held_no_more(0_0_2)_
 L  c_u_held_no_more(0_0_3)_
 L  c_u_held_no_more(0_0_4)_
 L  c_u_held_no_more(0_0_5)_
 L  c_u_held_no_more(0_1_0)_
 L  c_u_held_no_more(0_1_1)_
 L  c_u_held_no_more(0_1_2)_
 L  c_u_held_no_more(0_1_3)_
 L  c_u_held_no_more(0_1_4)_
 L  c_u_held_no_more(0_1_5)_
 L  c_u_held_no_more(0_2_0)_
 L  c_u_held_no_more(0_2_1)_
 L  c_u_held_no_more(0_2_2)_
 L  c_u_held_no_more(0_2_3)_
 L  c_u_held_no_more(0_2_4)_
 L  c_u_held_no_more(0_2_5)_
 L  c_u_held_no_more(1_0_0)_
 L  c_u_held_no_more(1_0_1)_
 L  c_u_held_no_more(1_0_2)_
 L  c_u_held_no_more(1_0_3)_
 L  c_u_held_no_more(1_0_4)_
 L  c_u_held_no_more(1_0_5)_
 L  c_u_held_no_more(1_1_0)_
 L  c_u_held_no_more(1_1_1)_
 L  c_u_held_no_more(1_1_2)_
 L  c_u_held_no_more(1_1_3)_
 L  c_u_held_no_more(1_1_4)_
 L  c_u_held_no_more(1_1_5)_
 L  c_u_held_no_more(1_2_0)_
 L  c_u_held_no_more(1_2_1)_
 L  c_u_held_no_more(1_2_2)_
 L  c_u_held_no_more(1_2_3)_
 L  c_u_held_no_more(1_2_4)_
 L  c_u_held_no_more(1_2_5)_
 E  c_e_held_in_all(0_0)_
 E  c_e_held_in_all(0_1)_
 E  c_e_held_in_all(0_2)_
 E  c_e_held_in_all(0_3)_
 E  c_e_held_in_all(0_4)_
 E  c_e_held_in_all(0_5)_
 E  c_e_held_in_all(1_0)_
 E  c_e_held_in_all(1_1)_
 E  c_e_held_in_all(1_2)_
 E  c_e_held_in_all(1_3)_
 E  c_e_held_in_all(1_4)_
 E  c_e_held_in_all(1_5)_
 L  c_u_capacity(0_0)_
 L  c_u_capacity(0_1)_
 L  c_u_capacity(0_2)_
 L  c_u_capacity(0_3)_
 L  c_u_capacity(0_4)_
 L  c_u_capacity(0_5)_
 L  c_u_capacity(1_0)_
 L  c_u_capacity(1_1)_
 L  c_u_capacity(1_2)_
 L  c_u_capacity(1_3)_
 L  c_u_capacity(1_4)_
 L  c_u_capacity(1_5)_
 L  c_u_capacity(2_0)_
 L  c_u_capacity(2_1)_
 L  c_u_capacity(2_2)_
 L  c_u_capacity(2_3)_
 L  c_u_capacity(2_4)_
 L  c_u_capacity(2_5)_
 L  c_u_link_taken(0_0_0)_
 L  c_u_link_taken(0_0_1)_
 L  c_u_link_taken(0_0_2)_
 L  c_u_link_taken(0_0_3)_
 L  c_u_link_taken(0_0_4)_
 L  c_u_link_taken(0_0_5)_
 L  c_u_link_taken(0_1_0)_
 L  c_u_link_taken(0_1_1)_
 L  c_u_link_taken(0_1_2)_
 L  c_u_link_taken(0_1_3)_
 L  c_u_link_taken(0_1_4)_
 L  c_u_link_taken(0_1_5)_
 L  c_u_link_taken(0_2_0)_
 L  c_u_link_taken(0_2_1)_
 L  c_u_link_taken(0_2_2)_
 L  c_u_link_taken(0_2_3)_
 L  c_u_link_taken(0_2_4)_
 L  c_u_link_taken(0_2_5)_
 L  c_u_link_taken(1_0_0)_
 L  c_u_link_taken(1_0_1)_
 L  c_u_link_taken(1_0_2)_
 L  c_u_link_taken(1_0_3)_
 L  c_u_link_taken(1_0_4)_
 L  c_u_link_taken(1_0_5)_
 L  c_u_link_taken(1_1_0)_
 L  c_u_link_taken(1_1_1)_
 L  c_u_link_taken(1_1_2)_
 L  c_u_link_taken(1_1_3)_
 L  c_u_link_taken(1_1_4)_
 L  c_u_link_taken(1_1_5)_
 L  c_u_link_taken(1_2_0)_
 L  c_u_link_taken(1_2_1)_
 L  c_u_link_taken(1_2_2)_
 L  c_u_link_taken(1_2_3)_
 L  c_u_link_taken(1_2_4)_
 L  c_u_link_taken(1_2_5)_
 L  c_u_link_of_used(0_0_0)_
 L  c_u_link_of_used(0_0_1)_
 L  c_u_link_of_used(0_0_2)_
 L  c_u_link_of_used(0_0_3)_
 L  c_u_link_of_used(0_0_4)_
 L  c_u_link_of_used(0_0_5)_
 L  c_u_link_of_used(0_1_0)_
 L  c_u_link_of_used(0_1_1)_
 L  c_u_link_of_used(0_1_2)_
 L  c_u_link_of_used(0_1_3)_
 L  c_u_link_of_used(0_1_4)_
 L  c_u_link_of_used(0_1_5)_
 L  c_u_link_of_used(0_2_0)_
 L  c_u_link_of_used(0_2_1)_
 L  c_u_link_of_used(0_2_2)_
 L  c_u_link_of_used(0_2_3)_
 L  c_u_link_of_used(0_2_4)_
 L  c_u_link_of_used(0_2_5)_
 L  c_u_link_of_used(1_0_0)_
 L  c_u_link_of_used(1_0_1)_
 L  c_u_link_of_used(1_0_2)_
 L  c_u_link_of_used(1_0_3)_
 L  c_u_link_of_used(1_0_4)_
 L  c_u_link_of_used(1_0_5)_
 L  c_u_link_of_used(1_1_0)_
 L  c_u_link_of_used(1_1_1)_
 L  c_u_link_of_used(1_1_2)_
 L  c_u_link_of_used(1_1_3)_
 L  c_u_link_of_used(1_1_4)_
 L  c_u_link_of_used(1_1_5)_
 L  c_u_link_of_used(1_2_0)_
 L  c_u_link_of_used(1_2_1)_
 L  c_u_link_of_used(1_2_2)_
 L  c_u_link_of_used(1_2_3)_
 L  c_u_link_of_used(1_2_4)_
 L  c_u_link_of_used(1_2_5)_
 L  c_u_link_of_holders(0_0_0)_
 L  c_u_link_of_holders(0_0_1)_
 L  c_u_link_of_holders(0_0_2)_
 L  c_u_link_of_holders(0_0_3)_
 L  c_u_link_of_holders(0_0_4)_
 L  c_u_link_of_holders(0_0_5)_
 L  c_u_link_of_holders(0_1_0)_
 L  c_u_link_of_holders(0_1_1)_
 L  c_u_link_of_holders(0_1_2)_
 L  c_u_link_of_holders(0_1_3)_
 L  c_u_link_of_holders(0_1_4)_
 L  c_u_link_of_holders(0_1_5)_
 L  c_u_link_of_holders(0_2_0)_
 L  c_u_link_of_holders(0_2_1)_
 L  c_u_link_of_holders(0_2_2)_
 L  c_u_link_of_holders(0_2_3)_
 L  c_u_link_of_holders(0_2_4)_
 L  c_u_link_of_holders(0_2_5)_
 L  c_u_link_of_holders(1_0_0)_
 L  c_u_link_of_holders(1_0_1)_
 L  c_u_link_of_holders(1_0_2)_
 L  c_u_link_of_holders(1_0_3)_
 L  c_u_link_of_holders(1_0_4)_
 L  c_u_link_of_holders(1_0_5)_
 L  c_u_link_of_holders(1_1_0)_
 L  c_u_link_of_holders(1_1_1)_
 L  c_u_link_of_holders(1_1_2)_
 L  c_u_link_of_holders(1_1_3)_
 L  c_u_link_of_holders(1_1_4)_
 L  c_u_link_of_holders(1_1_5)_
 L  c_u_link_of_holders(1_2_0)_
 L  c_u_link_of_holders(1_2_1)_
 L  c_u_link_of_holders(1_2_2)_
 L  c_u_link_of_holders(1_2_3)_
 L  c_u_link_of_holders(1_2_4)_
 L  c_u_link_of_holders(1_2_5)_
 E  c_e_one_level(0_2_0)_
 E  c_e_one_level(0_2_1)_
 E  c_e_one_level(0_2_2)_
 E  c_e_one_level(0_2_3)_
 E  c_e_one_level(0_2_4)_
 E  c_e_one_level(0_2_5)_
 E  c_e_one_level(0_3_0)_
 E  c_e_one_level(0_3_1)_
 E  c_e_one_level(0_3_2)_
 E  c_e_one_level(0_3_3)_
 E  c_e_one_level(0_3_4)_
 E  c_e_one_level(0_3_5)_
 E  c_e_one_level(1_2_0)_
 E  c_e_one_level(1_2_1)_
 E  c_e_one_level(1_2_2)_
 E  c_e_one_level(1_2_3)_
 E  c_e_one_level(1_2_4)_
 E  c_e_one_level(1_2_5)_
 E  c_e_one_level(1_3_0)_
 E  c_e_one_level(1_3_1)_
 E  c_e_one_level(1_3_2)_
 E  c_e_one_level(1_3_3)_
 E  c_e_one_level(1_3_4)_
 E  c_e_one_level(1_3_5)_
 L  c_u_worst_link(0_0_0)_
 L  c_u_worst_link(0_0_1)_
 L  c_u_worst_link(0_0_2)_
 L  c_u_worst_link(0_0_3)_
 L  c_u_worst_link(0_0_4)_
 L  c_u_worst_link(0_0_5)_
 L  c_u_worst_link(0_1_0)_
 L  c_u_worst_link(0_1_1)_
 L  c_u_worst_link(0_1_2)_
 L  c_u_worst_link(0_1_3)_
 L  c_u_worst_link(0_1_4)_
 L  c_u_worst_link(0_1_5)_
 L  c_u_worst_link(0_2_0)_
 L  c_u_worst_link(0_2_1)_
 L  c_u_worst_link(0_2_2)_
 L  c_u_worst_link(0_2_3)_
 L  c_u_worst_link(0_2_4)_
 L  c_u_worst_link(0_2_5)_
 L  c_u_worst_link(1_0_0)_
 L  c_u_worst_link(1_0_1)_
 L  c_u_worst_link(1_0_2)_
 L  c_u_worst_link(1_0_3)_
 L  c_u_worst_link(1_0_4)_
 L  c_u_worst_link(1_0_5)_
 L  c_u_worst_link(1_1_0)_
 L  c_u_worst_link(1_1_1)_
 L  c_u_worst_link(1_1_2)_
 L  c_u_worst_link(1_1_3)_
 L  c_u_worst_link(1_1_4)_
 L  c_u_worst_link(1_1_5)_
 L  c_u_worst_link(1_2_0)_
 L  c_u_worst_link(1_2_1)_
 L  c_u_worst_link(1_2_2)_
 L  c_u_worst_link(1_2_3)_
 L  c_u_worst_link(1_2_4)_
 L  c_u_worst_link(1_2_5)_
 L  c_u_iterations(0)_
 L  c_u_iterations(1)_
COLUMNS
     spanning_run(0_2_0_3) c_e_runs_once(0)_ 1
     spanning_run(0_2_0_3) c_u_ends(0)_ 3
     spanning_run(0_2_0_3) c_e_all_gpus(0)_ -3
     spanning_run(0_2_0_3) c_e_all_servers(0)_ -2
     spanning_run(0_2_0_3) c_u_held_running(0_0_0)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_0_1)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_1_0)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_1_1)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_2_0)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_2_1)_ 2
     spanning_run(0_2_0_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_0_3) c_e_held_in_all(0_0)_ -3
     spanning_run(0_2_0_3) c_e_held_in_all(0_1)_ -3
     spanning_run(0_2_0_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_0_3) c_u_link_taken(0_0_0)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_1_0)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_2_0)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_2_0_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_0_3) c_e_one_level(0_2_0)_ -1
     spanning_run(0_2_0_3) c_e_one_level(0_2_1)_ -1
     spanning_run(0_2_0_3) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_0_3) c_u_iterations(0)_ 1
     spanning_run(0_2_0_4) c_e_runs_once(0)_ 1
     spanning_run(0_2_0_4) c_u_ends(0)_ 4
     spanning_run(0_2_0_4) c_e_all_gpus(0)_ -3
     spanning_run(0_2_0_4) c_e_all_servers(0)_ -2
     spanning_run(0_2_0_4) c_u_held_running(0_0_0)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_0_1)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_1_0)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_1_1)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_2_0)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_2_1)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_0_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_0_4) c_e_held_in_all(0_0)_ -3
     spanning_run(0_2_0_4) c_e_held_in_all(0_1)_ -3
     spanning_run(0_2_0_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_0_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_0_4) c_u_link_taken(0_0_0)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_1_0)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_2_0)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_0_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_0_4) c_e_one_level(0_2_0)_ -1
     spanning_run(0_2_0_4) c_e_one_level(0_2_1)_ -1
     spanning_run(0_2_0_4) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_0_4) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_0_4) c_u_iterations(0)_ 1
     spanning_run(0_2_1_3) c_e_runs_once(0)_ 1
     spanning_run(0_2_1_3) c_u_ends(0)_ 4
     spanning_run(0_2_1_3) c_e_all_gpus(0)_ -3
     spanning_run(0_2_1_3) c_e_all_servers(0)_ -2
     spanning_run(0_2_1_3) c_u_held_running(0_0_1)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_1_1)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_2_1)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_1_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_1_3) c_e_held_in_all(0_1)_ -3
     spanning_run(0_2_1_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_1_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_1_3) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_1_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_1_3) c_e_one_level(0_2_1)_ -1
     spanning_run(0_2_1_3) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_1_3) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_1_3) c_u_iterations(0)_ 1
     spanning_run(0_2_1_4) c_e_runs_once(0)_ 1
     spanning_run(0_2_1_4) c_u_ends(0)_ 5
     spanning_run(0_2_1_4) c_e_all_gpus(0)_ -3
     spanning_run(0_2_1_4) c_e_all_servers(0)_ -2
     spanning_run(0_2_1_4) c_u_held_running(0_0_1)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_0_4)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_1_1)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_1_4)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_2_1)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_1_4) c_u_held_running(0_2_4)_ 2
     spanning_run(0_2_1_4) c_e_held_in_all(0_1)_ -3
     spanning_run(0_2_1_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_1_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_1_4) c_e_held_in_all(0_4)_ -3
     spanning_run(0_2_1_4) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_1_4) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_2_1_4) c_e_one_level(0_2_1)_ -1
     spanning_run(0_2_1_4) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_1_4) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_1_4) c_e_one_level(0_2_4)_ -1
     spanning_run(0_2_1_4) c_u_iterations(0)_ 1
     spanning_run(0_2_2_3) c_e_runs_once(0)_ 1
     spanning_run(0_2_2_3) c_u_ends(0)_ 5
     spanning_run(0_2_2_3) c_e_all_gpus(0)_ -3
     spanning_run(0_2_2_3) c_e_all_servers(0)_ -2
     spanning_run(0_2_2_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_0_4)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_1_4)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_2_3) c_u_held_running(0_2_4)_ 2
     spanning_run(0_2_2_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_2_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_2_3) c_e_held_in_all(0_4)_ -3
     spanning_run(0_2_2_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_2_3) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_2_2_3) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_2_3) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_2_3) c_e_one_level(0_2_4)_ -1
     spanning_run(0_2_2_3) c_u_iterations(0)_ 1
     spanning_run(0_2_2_4) c_e_runs_once(0)_ 1
     spanning_run(0_2_2_4) c_u_ends(0)_ 6
     spanning_run(0_2_2_4) c_e_all_gpus(0)_ -3
     spanning_run(0_2_2_4) c_e_all_servers(0)_ -2
     spanning_run(0_2_2_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_0_4)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_0_5)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_1_4)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_1_5)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_2_4)_ 2
     spanning_run(0_2_2_4) c_u_held_running(0_2_5)_ 2
     spanning_run(0_2_2_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_2_2_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_2_4) c_e_held_in_all(0_4)_ -3
     spanning_run(0_2_2_4) c_e_held_in_all(0_5)_ -3
     spanning_run(0_2_2_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_0_5)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_1_5)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_2_2_4) c_u_link_taken(0_2_5)_ 1
     spanning_run(0_2_2_4) c_e_one_level(0_2_2)_ -1
     spanning_run(0_2_2_4) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_2_4) c_e_one_level(0_2_4)_ -1
     spanning_run(0_2_2_4) c_e_one_level(0_2_5)_ -1
     spanning_run(0_2_2_4) c_u_iterations(0)_ 1
     spanning_run(0_2_3_3) c_e_runs_once(0)_ 1
     spanning_run(0_2_3_3) c_u_ends(0)_ 6
     spanning_run(0_2_3_3) c_e_all_gpus(0)_ -3
     spanning_run(0_2_3_3) c_e_all_servers(0)_ -2
     spanning_run(0_2_3_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_0_4)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_0_5)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_1_4)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_1_5)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_2_4)_ 2
     spanning_run(0_2_3_3) c_u_held_running(0_2_5)_ 2
     spanning_run(0_2_3_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_2_3_3) c_e_held_in_all(0_4)_ -3
     spanning_run(0_2_3_3) c_e_held_in_all(0_5)_ -3
     spanning_run(0_2_3_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_0_5)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_1_5)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_2_3_3) c_u_link_taken(0_2_5)_ 1
     spanning_run(0_2_3_3) c_e_one_level(0_2_3)_ -1
     spanning_run(0_2_3_3) c_e_one_level(0_2_4)_ -1
     spanning_run(0_2_3_3) c_e_one_level(0_2_5)_ -1
     spanning_run(0_2_3_3) c_u_iterations(0)_ 1
     spanning_run(0_3_0_3) c_e_runs_once(0)_ 1
     spanning_run(0_3_0_3) c_u_ends(0)_ 3
     spanning_run(0_3_0_3) c_e_all_gpus(0)_ -3
     spanning_run(0_3_0_3) c_e_all_servers(0)_ -3
     spanning_run(0_3_0_3) c_u_held_running(0_0_0)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_0_1)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_1_0)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_1_1)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_2_0)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_2_1)_ 2
     spanning_run(0_3_0_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_0_3) c_e_held_in_all(0_0)_ -3
     spanning_run(0_3_0_3) c_e_held_in_all(0_1)_ -3
     spanning_run(0_3_0_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_0_3) c_u_link_taken(0_0_0)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_1_0)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_2_0)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_3_0_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_0_3) c_e_one_level(0_3_0)_ -1
     spanning_run(0_3_0_3) c_e_one_level(0_3_1)_ -1
     spanning_run(0_3_0_3) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_0_3) c_u_iterations(0)_ 1
     spanning_run(0_3_0_4) c_e_runs_once(0)_ 1
     spanning_run(0_3_0_4) c_u_ends(0)_ 4
     spanning_run(0_3_0_4) c_e_all_gpus(0)_ -3
     spanning_run(0_3_0_4) c_e_all_servers(0)_ -3
     spanning_run(0_3_0_4) c_u_held_running(0_0_0)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_0_1)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_1_0)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_1_1)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_2_0)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_2_1)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_0_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_0_4) c_e_held_in_all(0_0)_ -3
     spanning_run(0_3_0_4) c_e_held_in_all(0_1)_ -3
     spanning_run(0_3_0_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_0_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_0_4) c_u_link_taken(0_0_0)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_1_0)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_2_0)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_0_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_0_4) c_e_one_level(0_3_0)_ -1
     spanning_run(0_3_0_4) c_e_one_level(0_3_1)_ -1
     spanning_run(0_3_0_4) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_0_4) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_0_4) c_u_iterations(0)_ 1
     spanning_run(0_3_1_3) c_e_runs_once(0)_ 1
     spanning_run(0_3_1_3) c_u_ends(0)_ 4
     spanning_run(0_3_1_3) c_e_all_gpus(0)_ -3
     spanning_run(0_3_1_3) c_e_all_servers(0)_ -3
     spanning_run(0_3_1_3) c_u_held_running(0_0_1)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_1_1)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_2_1)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_1_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_1_3) c_e_held_in_all(0_1)_ -3
     spanning_run(0_3_1_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_1_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_1_3) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_1_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_1_3) c_e_one_level(0_3_1)_ -1
     spanning_run(0_3_1_3) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_1_3) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_1_3) c_u_iterations(0)_ 1
     spanning_run(0_3_1_4) c_e_runs_once(0)_ 1
     spanning_run(0_3_1_4) c_u_ends(0)_ 5
     spanning_run(0_3_1_4) c_e_all_gpus(0)_ -3
     spanning_run(0_3_1_4) c_e_all_servers(0)_ -3
     spanning_run(0_3_1_4) c_u_held_running(0_0_1)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_0_4)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_1_1)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_1_4)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_2_1)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_1_4) c_u_held_running(0_2_4)_ 2
     spanning_run(0_3_1_4) c_e_held_in_all(0_1)_ -3
     spanning_run(0_3_1_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_1_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_1_4) c_e_held_in_all(0_4)_ -3
     spanning_run(0_3_1_4) c_u_link_taken(0_0_1)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_1_1)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_2_1)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_1_4) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_3_1_4) c_e_one_level(0_3_1)_ -1
     spanning_run(0_3_1_4) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_1_4) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_1_4) c_e_one_level(0_3_4)_ -1
     spanning_run(0_3_1_4) c_u_iterations(0)_ 1
     spanning_run(0_3_2_3) c_e_runs_once(0)_ 1
     spanning_run(0_3_2_3) c_u_ends(0)_ 5
     spanning_run(0_3_2_3) c_e_all_gpus(0)_ -3
     spanning_run(0_3_2_3) c_e_all_servers(0)_ -3
     spanning_run(0_3_2_3) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_0_4)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_1_4)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_2_3) c_u_held_running(0_2_4)_ 2
     spanning_run(0_3_2_3) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_2_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_2_3) c_e_held_in_all(0_4)_ -3
     spanning_run(0_3_2_3) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_2_3) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_3_2_3) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_2_3) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_2_3) c_e_one_level(0_3_4)_ -1
     spanning_run(0_3_2_3) c_u_iterations(0)_ 1
     spanning_run(0_3_2_4) c_e_runs_once(0)_ 1
     spanning_run(0_3_2_4) c_u_ends(0)_ 6
     spanning_run(0_3_2_4) c_e_all_gpus(0)_ -3
     spanning_run(0_3_2_4) c_e_all_servers(0)_ -3
     spanning_run(0_3_2_4) c_u_held_running(0_0_2)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_0_4)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_0_5)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_1_2)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_1_4)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_1_5)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_2_2)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_2_4)_ 2
     spanning_run(0_3_2_4) c_u_held_running(0_2_5)_ 2
     spanning_run(0_3_2_4) c_e_held_in_all(0_2)_ -3
     spanning_run(0_3_2_4) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_2_4) c_e_held_in_all(0_4)_ -3
     spanning_run(0_3_2_4) c_e_held_in_all(0_5)_ -3
     spanning_run(0_3_2_4) c_u_link_taken(0_0_2)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_0_5)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_1_2)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_1_5)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_2_2)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_3_2_4) c_u_link_taken(0_2_5)_ 1
     spanning_run(0_3_2_4) c_e_one_level(0_3_2)_ -1
     spanning_run(0_3_2_4) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_2_4) c_e_one_level(0_3_4)_ -1
     spanning_run(0_3_2_4) c_e_one_level(0_3_5)_ -1
     spanning_run(0_3_2_4) c_u_iterations(0)_ 1
     spanning_run(0_3_3_3) c_e_runs_once(0)_ 1
     spanning_run(0_3_3_3) c_u_ends(0)_ 6
     spanning_run(0_3_3_3) c_e_all_gpus(0)_ -3
     spanning_run(0_3_3_3) c_e_all_servers(0)_ -3
     spanning_run(0_3_3_3) c_u_held_running(0_0_3)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_0_4)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_0_5)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_1_3)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_1_4)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_1_5)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_2_3)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_2_4)_ 2
     spanning_run(0_3_3_3) c_u_held_running(0_2_5)_ 2
     spanning_run(0_3_3_3) c_e_held_in_all(0_3)_ -3
     spanning_run(0_3_3_3) c_e_held_in_all(0_4)_ -3
     spanning_run(0_3_3_3) c_e_held_in_all(0_5)_ -3
     spanning_run(0_3_3_3) c_u_link_taken(0_0_3)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_0_4)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_0_5)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_1_3)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_1_4)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_1_5)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_2_3)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_2_4)_ 1
     spanning_run(0_3_3_3) c_u_link_taken(0_2_5)_ 1
     spanning_run(0_3_3_3) c_e_one_level(0_3_3)_ -1
     spanning_run(0_3_3_3) c_e_one_level(0_3_4)_ -1
     spanning_run(0_3_3_3) c_e_one_level(0_3_5)_ -1
     spanning_run(0_3_3_3) c_u_iterations(0)_ 1
     spanning_run(1_2_0_2) c_e_runs_once(1)_ 1
     spanning_run(1_2_0_2) c_u_ends(1)_ 2
     spanning_run(1_2_0_2) c_e_all_gpus(1)_ -3
     spanning_run(1_2_0_2) c_e_all_servers(1)_ -2
     spanning_run(1_2_0_2) c_u_held_running(1_0_0)_ 2
     spanning_run(1_2_0_2) c_u_held_running(1_0_1)_ 2
     spanning_run(1_2_0_2) c_u_held_running(1_1_0)_ 2
     spanning_run(1_2_0_2) c_u_held_running(1_1_1)_ 2
     spanning_run(1_2_0_2) c_u_held_running(1_2_0)_ 2
     spanning_run(1_2_0_2) c_u_held_running(1_2_1)_ 2
     spanning_run(1_2_0_2) c_e_held_in_all(1_0)_ -3
     spanning_run(1_2_0_2) c_e_held_in_all(1_1)_ -3
     spanning_run(1_2_0_2) c_u_link_taken(1_0_0)_ 1
     spanning_run(1_2_0_2) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_2_0_2) c_u_link_taken(1_1_0)_ 1
     spanning_run(1_2_0_2) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_2_0_2) c_u_link_taken(1_2_0)_ 1
     spanning_run(1_2_0_2) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_2_0_2) c_e_one_level(1_2_0)_ -1
     spanning_run(1_2_0_2) c_e_one_level(1_2_1)_ -1
     spanning_run(1_2_0_2) c_u_iterations(1)_ 1
     spanning_run(1_2_0_3) c_e_runs_once(1)_ 1
     spanning_run(1_2_0_3) c_u_ends(1)_ 3
     spanning_run(1_2_0_3) c_e_all_gpus(1)_ -3
     spanning_run(1_2_0_3) c_e_all_servers(1)_ -2
     spanning_run(1_2_0_3) c_u_held_running(1_0_0)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_0_1)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_1_0)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_1_1)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_2_0)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_2_1)_ 2
     spanning_run(1_2_0_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_2_0_3) c_e_held_in_all(1_0)_ -3
     spanning_run(1_2_0_3) c_e_held_in_all(1_1)_ -3
     spanning_run(1_2_0_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_2_0_3) c_u_link_taken(1_0_0)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_1_0)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_2_0)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_2_0_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_2_0_3) c_e_one_level(1_2_0)_ -1
     spanning_run(1_2_0_3) c_e_one_level(1_2_1)_ -1
     spanning_run(1_2_0_3) c_e_one_level(1_2_2)_ -1
     spanning_run(1_2_0_3) c_u_iterations(1)_ 1
     spanning_run(1_2_1_2) c_e_runs_once(1)_ 1
     spanning_run(1_2_1_2) c_u_ends(1)_ 3
     spanning_run(1_2_1_2) c_e_all_gpus(1)_ -3
     spanning_run(1_2_1_2) c_e_all_servers(1)_ -2
     spanning_run(1_2_1_2) c_u_held_running(1_0_1)_ 2
     spanning_run(1_2_1_2) c_u_held_running(1_0_2)_ 2
     spanning_run(1_2_1_2) c_u_held_running(1_1_1)_ 2
     spanning_run(1_2_1_2) c_u_held_running(1_1_2)_ 2
     spanning_run(1_2_1_2) c_u_held_running(1_2_1)_ 2
     spanning_run(1_2_1_2) c_u_held_running(1_2_2)_ 2
     spanning_run(1_2_1_2) c_e_held_in_all(1_1)_ -3
     spanning_run(1_2_1_2) c_e_held_in_all(1_2)_ -3
     spanning_run(1_2_1_2) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_2_1_2) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_2_1_2) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_2_1_2) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_2_1_2) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_2_1_2) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_2_1_2) c_e_one_level(1_2_1)_ -1
     spanning_run(1_2_1_2) c_e_one_level(1_2_2)_ -1
     spanning_run(1_2_1_2) c_u_iterations(1)_ 1
     spanning_run(1_2_1_3) c_e_runs_once(1)_ 1
     spanning_run(1_2_1_3) c_u_ends(1)_ 4
     spanning_run(1_2_1_3) c_e_all_gpus(1)_ -3
     spanning_run(1_2_1_3) c_e_all_servers(1)_ -2
     spanning_run(1_2_1_3) c_u_held_running(1_0_1)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_1_1)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_2_1)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_2_1_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_2_1_3) c_e_held_in_all(1_1)_ -3
     spanning_run(1_2_1_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_2_1_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_2_1_3) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_2_1_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_2_1_3) c_e_one_level(1_2_1)_ -1
     spanning_run(1_2_1_3) c_e_one_level(1_2_2)_ -1
     spanning_run(1_2_1_3) c_e_one_level(1_2_3)_ -1
     spanning_run(1_2_1_3) c_u_iterations(1)_ 1
     spanning_run(1_2_2_2) c_e_runs_once(1)_ 1
     spanning_run(1_2_2_2) c_u_ends(1)_ 4
     spanning_run(1_2_2_2) c_e_all_gpus(1)_ -3
     spanning_run(1_2_2_2) c_e_all_servers(1)_ -2
     spanning_run(1_2_2_2) c_u_held_running(1_0_2)_ 2
     spanning_run(1_2_2_2) c_u_held_running(1_0_3)_ 2
     spanning_run(1_2_2_2) c_u_held_running(1_1_2)_ 2
     spanning_run(1_2_2_2) c_u_held_running(1_1_3)_ 2
     spanning_run(1_2_2_2) c_u_held_running(1_2_2)_ 2
     spanning_run(1_2_2_2) c_u_held_running(1_2_3)_ 2
     spanning_run(1_2_2_2) c_e_held_in_all(1_2)_ -3
     spanning_run(1_2_2_2) c_e_held_in_all(1_3)_ -3
     spanning_run(1_2_2_2) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_2_2_2) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_2_2_2) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_2_2_2) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_2_2_2) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_2_2_2) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_2_2_2) c_e_one_level(1_2_2)_ -1
     spanning_run(1_2_2_2) c_e_one_level(1_2_3)_ -1
     spanning_run(1_2_2_2) c_u_iterations(1)_ 1
     spanning_run(1_2_2_3) c_e_runs_once(1)_ 1
     spanning_run(1_2_2_3) c_u_ends(1)_ 5
     spanning_run(1_2_2_3) c_e_all_gpus(1)_ -3
     spanning_run(1_2_2_3) c_e_all_servers(1)_ -2
     spanning_run(1_2_2_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_0_4)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_1_4)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_2_2_3) c_u_held_running(1_2_4)_ 2
     spanning_run(1_2_2_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_2_2_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_2_2_3) c_e_held_in_all(1_4)_ -3
     spanning_run(1_2_2_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_2_2_3) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_2_2_3) c_e_one_level(1_2_2)_ -1
     spanning_run(1_2_2_3) c_e_one_level(1_2_3)_ -1
     spanning_run(1_2_2_3) c_e_one_level(1_2_4)_ -1
     spanning_run(1_2_2_3) c_u_iterations(1)_ 1
     spanning_run(1_2_3_2) c_e_runs_once(1)_ 1
     spanning_run(1_2_3_2) c_u_ends(1)_ 5
     spanning_run(1_2_3_2) c_e_all_gpus(1)_ -3
     spanning_run(1_2_3_2) c_e_all_servers(1)_ -2
     spanning_run(1_2_3_2) c_u_held_running(1_0_3)_ 2
     spanning_run(1_2_3_2) c_u_held_running(1_0_4)_ 2
     spanning_run(1_2_3_2) c_u_held_running(1_1_3)_ 2
     spanning_run(1_2_3_2) c_u_held_running(1_1_4)_ 2
     spanning_run(1_2_3_2) c_u_held_running(1_2_3)_ 2
     spanning_run(1_2_3_2) c_u_held_running(1_2_4)_ 2
     spanning_run(1_2_3_2) c_e_held_in_all(1_3)_ -3
     spanning_run(1_2_3_2) c_e_held_in_all(1_4)_ -3
     spanning_run(1_2_3_2) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_2_3_2) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_2_3_2) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_2_3_2) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_2_3_2) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_2_3_2) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_2_3_2) c_e_one_level(1_2_3)_ -1
     spanning_run(1_2_3_2) c_e_one_level(1_2_4)_ -1
     spanning_run(1_2_3_2) c_u_iterations(1)_ 1
     spanning_run(1_2_3_3) c_e_runs_once(1)_ 1
     spanning_run(1_2_3_3) c_u_ends(1)_ 6
     spanning_run(1_2_3_3) c_e_all_gpus(1)_ -3
     spanning_run(1_2_3_3) c_e_all_servers(1)_ -2
     spanning_run(1_2_3_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_0_4)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_0_5)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_1_4)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_1_5)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_2_4)_ 2
     spanning_run(1_2_3_3) c_u_held_running(1_2_5)_ 2
     spanning_run(1_2_3_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_2_3_3) c_e_held_in_all(1_4)_ -3
     spanning_run(1_2_3_3) c_e_held_in_all(1_5)_ -3
     spanning_run(1_2_3_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_0_5)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_1_5)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_2_3_3) c_u_link_taken(1_2_5)_ 1
     spanning_run(1_2_3_3) c_e_one_level(1_2_3)_ -1
     spanning_run(1_2_3_3) c_e_one_level(1_2_4)_ -1
     spanning_run(1_2_3_3) c_e_one_level(1_2_5)_ -1
     spanning_run(1_2_3_3) c_u_iterations(1)_ 1
     spanning_run(1_2_4_2) c_e_runs_once(1)_ 1
     spanning_run(1_2_4_2) c_u_ends(1)_ 6
     spanning_run(1_2_4_2) c_e_all_gpus(1)_ -3
     spanning_run(1_2_4_2) c_e_all_servers(1)_ -2
     spanning_run(1_2_4_2) c_u_held_running(1_0_4)_ 2
     spanning_run(1_2_4_2) c_u_held_running(1_0_5)_ 2
     spanning_run(1_2_4_2) c_u_held_running(1_1_4)_ 2
     spanning_run(1_2_4_2) c_u_held_running(1_1_5)_ 2
     spanning_run(1_2_4_2) c_u_held_running(1_2_4)_ 2
     spanning_run(1_2_4_2) c_u_held_running(1_2_5)_ 2
     spanning_run(1_2_4_2) c_e_held_in_all(1_4)_ -3
     spanning_run(1_2_4_2) c_e_held_in_all(1_5)_ -3
     spanning_run(1_2_4_2) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_2_4_2) c_u_link_taken(1_0_5)_ 1
     spanning_run(1_2_4_2) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_2_4_2) c_u_link_taken(1_1_5)_ 1
     spanning_run(1_2_4_2) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_2_4_2) c_u_link_taken(1_2_5)_ 1
     spanning_run(1_2_4_2) c_e_one_level(1_2_4)_ -1
     spanning_run(1_2_4_2) c_e_one_level(1_2_5)_ -1
     spanning_run(1_2_4_2) c_u_iterations(1)_ 1
     spanning_run(1_3_0_2) c_e_runs_once(1)_ 1
     spanning_run(1_3_0_2) c_u_ends(1)_ 2
     spanning_run(1_3_0_2) c_e_all_gpus(1)_ -3
     spanning_run(1_3_0_2) c_e_all_servers(1)_ -3
     spanning_run(1_3_0_2) c_u_held_running(1_0_0)_ 2
     spanning_run(1_3_0_2) c_u_held_running(1_0_1)_ 2
     spanning_run(1_3_0_2) c_u_held_running(1_1_0)_ 2
     spanning_run(1_3_0_2) c_u_held_running(1_1_1)_ 2
     spanning_run(1_3_0_2) c_u_held_running(1_2_0)_ 2
     spanning_run(1_3_0_2) c_u_held_running(1_2_1)_ 2
     spanning_run(1_3_0_2) c_e_held_in_all(1_0)_ -3
     spanning_run(1_3_0_2) c_e_held_in_all(1_1)_ -3
     spanning_run(1_3_0_2) c_u_link_taken(1_0_0)_ 1
     spanning_run(1_3_0_2) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_3_0_2) c_u_link_taken(1_1_0)_ 1
     spanning_run(1_3_0_2) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_3_0_2) c_u_link_taken(1_2_0)_ 1
     spanning_run(1_3_0_2) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_3_0_2) c_e_one_level(1_3_0)_ -1
     spanning_run(1_3_0_2) c_e_one_level(1_3_1)_ -1
     spanning_run(1_3_0_2) c_u_iterations(1)_ 1
     spanning_run(1_3_0_3) c_e_runs_once(1)_ 1
     spanning_run(1_3_0_3) c_u_ends(1)_ 3
     spanning_run(1_3_0_3) c_e_all_gpus(1)_ -3
     spanning_run(1_3_0_3) c_e_all_servers(1)_ -3
     spanning_run(1_3_0_3) c_u_held_running(1_0_0)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_0_1)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_1_0)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_1_1)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_2_0)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_2_1)_ 2
     spanning_run(1_3_0_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_3_0_3) c_e_held_in_all(1_0)_ -3
     spanning_run(1_3_0_3) c_e_held_in_all(1_1)_ -3
     spanning_run(1_3_0_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_3_0_3) c_u_link_taken(1_0_0)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_1_0)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_2_0)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_3_0_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_3_0_3) c_e_one_level(1_3_0)_ -1
     spanning_run(1_3_0_3) c_e_one_level(1_3_1)_ -1
     spanning_run(1_3_0_3) c_e_one_level(1_3_2)_ -1
     spanning_run(1_3_0_3) c_u_iterations(1)_ 1
     spanning_run(1_3_1_2) c_e_runs_once(1)_ 1
     spanning_run(1_3_1_2) c_u_ends(1)_ 3
     spanning_run(1_3_1_2) c_e_all_gpus(1)_ -3
     spanning_run(1_3_1_2) c_e_all_servers(1)_ -3
     spanning_run(1_3_1_2) c_u_held_running(1_0_1)_ 2
     spanning_run(1_3_1_2) c_u_held_running(1_0_2)_ 2
     spanning_run(1_3_1_2) c_u_held_running(1_1_1)_ 2
     spanning_run(1_3_1_2) c_u_held_running(1_1_2)_ 2
     spanning_run(1_3_1_2) c_u_held_running(1_2_1)_ 2
     spanning_run(1_3_1_2) c_u_held_running(1_2_2)_ 2
     spanning_run(1_3_1_2) c_e_held_in_all(1_1)_ -3
     spanning_run(1_3_1_2) c_e_held_in_all(1_2)_ -3
     spanning_run(1_3_1_2) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_3_1_2) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_3_1_2) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_3_1_2) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_3_1_2) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_3_1_2) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_3_1_2) c_e_one_level(1_3_1)_ -1
     spanning_run(1_3_1_2) c_e_one_level(1_3_2)_ -1
     spanning_run(1_3_1_2) c_u_iterations(1)_ 1
     spanning_run(1_3_1_3) c_e_runs_once(1)_ 1
     spanning_run(1_3_1_3) c_u_ends(1)_ 4
     spanning_run(1_3_1_3) c_e_all_gpus(1)_ -3
     spanning_run(1_3_1_3) c_e_all_servers(1)_ -3
     spanning_run(1_3_1_3) c_u_held_running(1_0_1)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_1_1)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_2_1)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_3_1_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_3_1_3) c_e_held_in_all(1_1)_ -3
     spanning_run(1_3_1_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_3_1_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_3_1_3) c_u_link_taken(1_0_1)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_1_1)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_2_1)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_3_1_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_3_1_3) c_e_one_level(1_3_1)_ -1
     spanning_run(1_3_1_3) c_e_one_level(1_3_2)_ -1
     spanning_run(1_3_1_3) c_e_one_level(1_3_3)_ -1
     spanning_run(1_3_1_3) c_u_iterations(1)_ 1
     spanning_run(1_3_2_2) c_e_runs_once(1)_ 1
     spanning_run(1_3_2_2) c_u_ends(1)_ 4
     spanning_run(1_3_2_2) c_e_all_gpus(1)_ -3
     spanning_run(1_3_2_2) c_e_all_servers(1)_ -3
     spanning_run(1_3_2_2) c_u_held_running(1_0_2)_ 2
     spanning_run(1_3_2_2) c_u_held_running(1_0_3)_ 2
     spanning_run(1_3_2_2) c_u_held_running(1_1_2)_ 2
     spanning_run(1_3_2_2) c_u_held_running(1_1_3)_ 2
     spanning_run(1_3_2_2) c_u_held_running(1_2_2)_ 2
     spanning_run(1_3_2_2) c_u_held_running(1_2_3)_ 2
     spanning_run(1_3_2_2) c_e_held_in_all(1_2)_ -3
     spanning_run(1_3_2_2) c_e_held_in_all(1_3)_ -3
     spanning_run(1_3_2_2) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_3_2_2) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_3_2_2) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_3_2_2) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_3_2_2) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_3_2_2) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_3_2_2) c_e_one_level(1_3_2)_ -1
     spanning_run(1_3_2_2) c_e_one_level(1_3_3)_ -1
     spanning_run(1_3_2_2) c_u_iterations(1)_ 1
     spanning_run(1_3_2_3) c_e_runs_once(1)_ 1
     spanning_run(1_3_2_3) c_u_ends(1)_ 5
     spanning_run(1_3_2_3) c_e_all_gpus(1)_ -3
     spanning_run(1_3_2_3) c_e_all_servers(1)_ -3
     spanning_run(1_3_2_3) c_u_held_running(1_0_2)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_0_4)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_1_2)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_1_4)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_2_2)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_3_2_3) c_u_held_running(1_2_4)_ 2
     spanning_run(1_3_2_3) c_e_held_in_all(1_2)_ -3
     spanning_run(1_3_2_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_3_2_3) c_e_held_in_all(1_4)_ -3
     spanning_run(1_3_2_3) c_u_link_taken(1_0_2)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_1_2)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_2_2)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_3_2_3) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_3_2_3) c_e_one_level(1_3_2)_ -1
     spanning_run(1_3_2_3) c_e_one_level(1_3_3)_ -1
     spanning_run(1_3_2_3) c_e_one_level(1_3_4)_ -1
     spanning_run(1_3_2_3) c_u_iterations(1)_ 1
     spanning_run(1_3_3_2) c_e_runs_once(1)_ 1
     spanning_run(1_3_3_2) c_u_ends(1)_ 5
     spanning_run(1_3_3_2) c_e_all_gpus(1)_ -3
     spanning_run(1_3_3_2) c_e_all_servers(1)_ -3
     spanning_run(1_3_3_2) c_u_held_running(1_0_3)_ 2
     spanning_run(1_3_3_2) c_u_held_running(1_0_4)_ 2
     spanning_run(1_3_3_2) c_u_held_running(1_1_3)_ 2
     spanning_run(1_3_3_2) c_u_held_running(1_1_4)_ 2
     spanning_run(1_3_3_2) c_u_held_running(1_2_3)_ 2
     spanning_run(1_3_3_2) c_u_held_running(1_2_4)_ 2
     spanning_run(1_3_3_2) c_e_held_in_all(1_3)_ -3
     spanning_run(1_3_3_2) c_e_held_in_all(1_4)_ -3
     spanning_run(1_3_3_2) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_3_3_2) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_3_3_2) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_3_3_2) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_3_3_2) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_3_3_2) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_3_3_2) c_e_one_level(1_3_3)_ -1
     spanning_run(1_3_3_2) c_e_one_level(1_3_4)_ -1
     spanning_run(1_3_3_2) c_u_iterations(1)_ 1
     spanning_run(1_3_3_3) c_e_runs_once(1)_ 1
     spanning_run(1_3_3_3) c_u_ends(1)_ 6
     spanning_run(1_3_3_3) c_e_all_gpus(1)_ -3
     spanning_run(1_3_3_3) c_e_all_servers(1)_ -3
     spanning_run(1_3_3_3) c_u_held_running(1_0_3)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_0_4)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_0_5)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_1_3)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_1_4)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_1_5)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_2_3)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_2_4)_ 2
     spanning_run(1_3_3_3) c_u_held_running(1_2_5)_ 2
     spanning_run(1_3_3_3) c_e_held_in_all(1_3)_ -3
     spanning_run(1_3_3_3) c_e_held_in_all(1_4)_ -3
     spanning_run(1_3_3_3) c_e_held_in_all(1_5)_ -3
     spanning_run(1_3_3_3) c_u_link_taken(1_0_3)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_0_5)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_1_3)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_1_5)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_2_3)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_3_3_3) c_u_link_taken(1_2_5)_ 1
     spanning_run(1_3_3_3) c_e_one_level(1_3_3)_ -1
     spanning_run(1_3_3_3) c_e_one_level(1_3_4)_ -1
     spanning_run(1_3_3_3) c_e_one_level(1_3_5)_ -1
     spanning_run(1_3_3_3) c_u_iterations(1)_ 1
     spanning_run(1_3_4_2) c_e_runs_once(1)_ 1
     spanning_run(1_3_4_2) c_u_ends(1)_ 6
     spanning_run(1_3_4_2) c_e_all_gpus(1)_ -3
     spanning_run(1_3_4_2) c_e_all_servers(1)_ -3
     spanning_run(1_3_4_2) c_u_held_running(1_0_4)_ 2
     spanning_run(1_3_4_2) c_u_held_running(1_0_5)_ 2
     spanning_run(1_3_4_2) c_u_held_running(1_1_4)_ 2
     spanning_run(1_3_4_2) c_u_held_running(1_1_5)_ 2
     spanning_run(1_3_4_2) c_u_held_running(1_2_4)_ 2
     spanning_run(1_3_4_2) c_u_held_running(1_2_5)_ 2
     spanning_run(1_3_4_2) c_e_held_in_all(1_4)_ -3
     spanning_run(1_3_4_2) c_e_held_in_all(1_5)_ -3
     spanning_run(1_3_4_2) c_u_link_taken(1_0_4)_ 1
     spanning_run(1_3_4_2) c_u_link_taken(1_0_5)_ 1
     spanning_run(1_3_4_2) c_u_link_taken(1_1_4)_ 1
     spanning_run(1_3_4_2) c_u_link_taken(1_1_5)_ 1
     spanning_run(1_3_4_2) c_u_link_taken(1_2_4)_ 1
     spanning_run(1_3_4_2) c_u_link_taken(1_2_5)_ 1
     spanning_run(1_3_4_2) c_e_one_level(1_3_4)_ -1
     spanning_run(1_3_4_2) c_e_one_level(1_3_5)_ -1
     spanning_run(1_3_4_2) c_u_iterations(1)_ 1
     last_end makespan 1
     last_end c_u_ends(0)_ -1
     last_end c_u_ends(1)_ -1
     gpus(0_0) c_e_all_gpus(0)_ 1
     gpus(0_0) c_u_at_least_one(0_0)_ -1
     gpus(0_0) c_u_only_if_used(0_0)_ 1
     gpus(0_0) c_u_held_running(0_0_0)_ 1
     gpus(0_0) c_u_held_running(0_0_1)_ 1
     gpus(0_0) c_u_held_running(0_0_2)_ 1
     gpus(0_0) c_u_held_running(0_0_3)_ 1
     gpus(0_0) c_u_held_running(0_0_4)_ 1
     gpus(0_0) c_u_held_running(0_0_5)_ 1
     gpus(0_0) c_u_held_no_more(0_0_0)_ -1
     gpus(0_0) c_u_held_no_more(0_0_1)_ -1
     gpus(0_0) c_u_held_no_more(0_0_2)_ -1
     gpus(0_0) c_u_held_no_more(0_0_3)_ -1
     gpus(0_0) c_u_held_no_more(0_0_4)_ -1
     gpus(0_0) c_u_held_no_more(0_0_5)_ -1
     gpus(0_1) c_e_all_gpus(0)_ 1
     gpus(0_1) c_u_at_least_one(0_1)_ -1
     gpus(0_1) c_u_only_if_used(0_1)_ 1
     gpus(0_1) c_u_held_running(0_1_0)_ 1
     gpus(0_1) c_u_held_running(0_1_1)_ 1
     gpus(0_1) c_u_held_running(0_1_2)_ 1
     gpus(0_1) c_u_held_running(0_1_3)_ 1
     gpus(0_1) c_u_held_running(0_1_4)_ 1
     gpus(0_1) c_u_held_running(0_1_5)_ 1
     gpus(0_1) c_u_held_no_more(0_1_0)_ -1
     gpus(0_1) c_u_held_no_more(0_1_1)_ -1
     gpus(0_1) c_u_held_no_more(0_1_2)_ -1
     gpus(0_1) c_u_held_no_more(0_1_3)_ -1
     gpus(0_1) c_u_held_no_more(0_1_4)_ -1
     gpus(0_1) c_u_held_no_more(0_1_5)_ -1
     gpus(0_2) c_e_all_gpus(0)_ 1
     gpus(0_2) c_u_at_least_one(0_2)_ -1
     gpus(0_2) c_u_only_if_used(0_2)_ 1
     gpus(0_2) c_u_held_running(0_2_0)_ 1
     gpus(0_2) c_u_held_running(0_2_1)_ 1
     gpus(0_2) c_u_held_running(0_2_2)_ 1
     gpus(0_2) c_u_held_running(0_2_3)_ 1
     gpus(0_2) c_u_held_running(0_2_4)_ 1
     gpus(0_2) c_u_held_running(0_2_5)_ 1
     gpus(0_2) c_u_held_no_more(0_2_0)_ -1
     gpus(0_2) c_u_held_no_more(0_2_1)_ -1
     gpus(0_2) c_u_held_no_more(0_2_2)_ -1
     gpus(0_2) c_u_held_no_more(0_2_3)_ -1
     gpus(0_2) c_u_held_no_more(0_2_4)_ -1
     gpus(0_2) c_u_held_no_more(0_2_5)_ -1
     gpus(1_0) c_e_all_gpus(1)_ 1
     gpus(1_0) c_u_at_least_one(1_0)_ -1
     gpus(1_0) c_u_only_if_used(1_0)_ 1
     gpus(1_0) c_u_held_running(1_0_0)_ 1
     gpus(1_0) c_u_held_running(1_0_1)_ 1
     gpus(1_0) c_u_held_running(1_0_2)_ 1
     gpus(1_0) c_u_held_running(1_0_3)_ 1
     gpus(1_0) c_u_held_running(1_0_4)_ 1
     gpus(1_0) c_u_held_running(1_0_5)_ 1
     gpus(1_0) c_u_held_no_more(1_0_0)_ -1
     gpus(1_0) c_u_held_no_more(1_0_1)_ -1
     gpus(1_0) c_u_held_no_more(1_0_2)_ -1
     gpus(1_0) c_u_held_no_more(1_0_3)_ -1
     gpus(1_0) c_u_held_no_more(1_0_4)_ -1
     gpus(1_0) c_u_held_no_more(1_0_5)_ -1
     gpus(1_1) c_e_all_gpus(1)_ 1
     gpus(1_1) c_u_at_least_one(1_1)_ -1
     gpus(1_1) c_u_only_if_used(1_1)_ 1
     gpus(1_1) c_u_held_running(1_1_0)_ 1
     gpus(1_1) c_u_held_running(1_1_1)_ 1
     gpus(1_1) c_u_held_running(1_1_2)_ 1
     gpus(1_1) c_u_held_running(1_1_3)_ 1
     gpus(1_1) c_u_held_running(1_1_4)_ 1
     gpus(1_1) c_u_held_running(1_1_5)_ 1
     gpus(1_1) c_u_held_no_more(1_1_0)_ -1
     gpus(1_1) c_u_held_no_more(1_1_1)_ -1
     gpus(1_1) c_u_held_no_more(1_1_2)_ -1
     gpus(1_1) c_u_held_no_more(1_1_3)_ -1
     gpus(1_1) c_u_held_no_more(1_1_4)_ -1
     gpus(1_1) c_u_held_no_more(1_1_5)_ -1
     gpus(1_2) c_e_all_gpus(1)_ 1
     gpus(1_2) c_u_at_least_one(1_2)_ -1
     gpus(1_2) c_u_only_if_used(1_2)_ 1
     gpus(1_2) c_u_held_running(1_2_0)_ 1
     gpus(1_2) c_u_held_running(1_2_1)_ 1
     gpus(1_2) c_u_held_running(1_2_2)_ 1
     gpus(1_2) c_u_held_running(1_2_3)_ 1
     gpus(1_2) c_u_held_running(1_2_4)_ 1
     gpus(1_2) c_u_held_running(1_2_5)_ 1
     gpus(1_2) c_u_held_no_more(1_2_0)_ -1
     gpus(1_2) c_u_held_no_more(1_2_1)_ -1
     gpus(1_2) c_u_held_no_more(1_2_2)_ -1
     gpus(1_2) c_u_held_no_more(1_2_3)_ -1
     gpus(1_2) c_u_held_no_more(1_2_4)_ -1
     gpus(1_2) c_u_held_no_more(1_2_5)_ -1
     uses(0_0) c_e_all_servers(0)_ 1
     uses(0_0) c_u_at_least_one(0_0)_ 1
     uses(0_0) c_u_only_if_used(0_0)_ -2
     uses(0_0) c_u_link_taken(0_0_0)_ 1
     uses(0_0) c_u_link_taken(0_0_1)_ 1
     uses(0_0) c_u_link_taken(0_0_2)_ 1
     uses(0_0) c_u_link_taken(0_0_3)_ 1
     uses(0_0) c_u_link_taken(0_0_4)_ 1
     uses(0_0) c_u_link_taken(0_0_5)_ 1
     uses(0_0) c_u_link_of_used(0_0_0)_ -1
     uses(0_0) c_u_link_of_used(0_0_1)_ -1
     uses(0_0) c_u_link_of_used(0_0_2)_ -1
     uses(0_0) c_u_link_of_used(0_0_3)_ -1
     uses(0_0) c_u_link_of_used(0_0_4)_ -1
     uses(0_0) c_u_link_of_used(0_0_5)_ -1
     uses(0_1) c_e_all_servers(0)_ 1
     uses(0_1) c_u_at_least_one(0_1)_ 1
     uses(0_1) c_u_only_if_used(0_1)_ -2
     uses(0_1) c_u_link_taken(0_1_0)_ 1
     uses(0_1) c_u_link_taken(0_1_1)_ 1
     uses(0_1) c_u_link_taken(0_1_2)_ 1
     uses(0_1) c_u_link_taken(0_1_3)_ 1
     uses(0_1) c_u_link_taken(0_1_4)_ 1
     uses(0_1) c_u_link_taken(0_1_5)_ 1
     uses(0_1) c_u_link_of_used(0_1_0)_ -1
     uses(0_1) c_u_link_of_used(0_1_1)_ -1
     uses(0_1) c_u_link_of_used(0_1_2)_ -1
     uses(0_1) c_u_link_of_used(0_1_3)_ -1
     uses(0_1) c_u_link_of_used(0_1_4)_ -1
     uses(0_1) c_u_link_of_used(0_1_5)_ -1
     uses(0_2) c_e_all_servers(0)_ 1
     uses(0_2) c_u_at_least_one(0_2)_ 1
     uses(0_2) c_u_only_if_used(0_2)_ -2
     uses(0_2) c_u_link_taken(0_2_0)_ 1
     uses(0_2) c_u_link_taken(0_2_1)_ 1
     uses(0_2) c_u_link_taken(0_2_2)_ 1
     uses(0_2) c_u_link_taken(0_2_3)_ 1
     uses(0_2) c_u_link_taken(0_2_4)_ 1
     uses(0_2) c_u_link_taken(0_2_5)_ 1
     uses(0_2) c_u_link_of_used(0_2_0)_ -1
     uses(0_2) c_u_link_of_used(0_2_1)_ -1
     uses(0_2) c_u_link_of_used(0_2_2)_ -1
     uses(0_2) c_u_link_of_used(0_2_3)_ -1
     uses(0_2) c_u_link_of_used(0_2_4)_ -1
     uses(0_2) c_u_link_of_used(0_2_5)_ -1
     uses(1_0) c_e_all_servers(1)_ 1
     uses(1_0) c_u_at_least_one(1_0)_ 1
     uses(1_0) c_u_only_if_used(1_0)_ -2
     uses(1_0) c_u_link_taken(1_0_0)_ 1
     uses(1_0) c_u_link_taken(1_0_1)_ 1
     uses(1_0) c_u_link_taken(1_0_2)_ 1
     uses(1_0) c_u_link_taken(1_0_3)_ 1
     uses(1_0) c_u_link_taken(1_0_4)_ 1
     uses(1_0) c_u_link_taken(1_0_5)_ 1
     uses(1_0) c_u_link_of_used(1_0_0)_ -1
     uses(1_0) c_u_link_of_used(1_0_1)_ -1
     uses(1_0) c_u_link_of_used(1_0_2)_ -1
     uses(1_0) c_u_link_of_used(1_0_3)_ -1
     uses(1_0) c_u_link_of_used(1_0_4)_ -1
     uses(1_0) c_u_link_of_used(1_0_5)_ -1
     uses(1_1) c_e_all_servers(1)_ 1
     uses(1_1) c_u_at_least_one(1_1)_ 1
     uses(1_1) c_u_only_if_used(1_1)_ -2
     uses(1_1) c_u_link_taken(1_1_0)_ 1
     uses(1_1) c_u_link_taken(1_1_1)_ 1
     uses(1_1) c_u_link_taken(1_1_2)_ 1
     uses(1_1) c_u_link_taken(1_1_3)_ 1
     uses(1_1) c_u_link_taken(1_1_4)_ 1
     uses(1_1) c_u_link_taken(1_1_5)_ 1
     uses(1_1) c_u_link_of_used(1_1_0)_ -1
     uses(1_1) c_u_link_of_used(1_1_1)_ -1
     uses(1_1) c_u_link_of_used(1_1_2)_ -1
     uses(1_1) c_u_link_of_used(1_1_3)_ -1
     uses(1_1) c_u_link_of_used(1_1_4)_ -1
     uses(1_1) c_u_link_of_used(1_1_5)_ -1
     uses(1_2) c_e_all_servers(1)_ 1
     uses(1_2) c_u_at_least_one(1_2)_ 1
     uses(1_2) c_u_only_if_used(1_2)_ -2
     uses(1_2) c_u_link_taken(1_2_0)_ 1
     uses(1_2) c_u_link_taken(1_2_1)_ 1
     uses(1_2) c_u_link_taken(1_2_2)_ 1
     uses(1_2) c_u_link_taken(1_2_3)_ 1
     uses(1_2) c_u_link_taken(1_2_4)_ 1
     uses(1_2) c_u_link_taken(1_2_5)_ 1
     uses(1_2) c_u_link_of_used(1_2_0)_ -1
     uses(1_2) c_u_link_of_used(1_2_1)_ -1
     uses(1_2) c_u_link_of_used(1_2_2)_ -1
     uses(1_2) c_u_link_of_used(1_2_3)_ -1
     uses(1_2) c_u_link_of_used(1_2_4)_ -1
     uses(1_2) c_u_link_of_used(1_2_5)_ -1
     held(0_0_0) c_u_held_running(0_0_0)_ -1
     held(0_0_0) c_u_held_no_more(0_0_0)_ 1
     held(0_0_0) c_e_held_in_all(0_0)_ 1
     held(0_0_0) c_u_capacity(0_0)_ 1
     held(0_0_0) c_u_link_of_holders(0_0_0)_ 1
     held(0_0_1) c_u_held_running(0_0_1)_ -1
     held(0_0_1) c_u_held_no_more(0_0_1)_ 1
     held(0_0_1) c_e_held_in_all(0_1)_ 1
     held(0_0_1) c_u_capacity(0_1)_ 1
     held(0_0_1) c_u_link_of_holders(0_0_1)_ 1
     held(0_0_2) c_u_held_running(0_0_2)_ -1
     held(0_0_2) c_u_held_no_more(0_0_2)_ 1
     held(0_0_2) c_e_held_in_all(0_2)_ 1
     held(0_0_2) c_u_capacity(0_2)_ 1
     held(0_0_2) c_u_link_of_holders(0_0_2)_ 1
     held(0_0_3) c_u_held_running(0_0_3)_ -1
     held(0_0_3) c_u_held_no_more(0_0_3)_ 1
     held(0_0_3) c_e_held_in_all(0_3)_ 1
     held(0_0_3) c_u_capacity(0_3)_ 1
     held(0_0_3) c_u_link_of_holders(0_0_3)_ 1
     held(0_0_4) c_u_held_running(0_0_4)_ -1
     held(0_0_4) c_u_held_no_more(0_0_4)_ 1
     held(0_0_4) c_e_held_in_all(0_4)_ 1
     held(0_0_4) c_u_capacity(0_4)_ 1
     held(0_0_4) c_u_link_of_holders(0_0_4)_ 1
     held(0_0_5) c_u_held_running(0_0_5)_ -1
     held(0_0_5) c_u_held_no_more(0_0_5)_ 1
     held(0_0_5) c_e_held_in_all(0_5)_ 1
     held(0_0_5) c_u_capacity(0_5)_ 1
     held(0_0_5) c_u_link_of_holders(0_0_5)_ 1
     held(0_1_0) c_u_held_running(0_1_0)_ -1
     held(0_1_0) c_u_held_no_more(0_1_0)_ 1
     held(0_1_0) c_e_held_in_all(0_0)_ 1
     held(0_1_0) c_u_capacity(1_0)_ 1
     held(0_1_0) c_u_link_of_holders(0_1_0)_ 1
     held(0_1_1) c_u_held_running(0_1_1)_ -1
     held(0_1_1) c_u_held_no_more(0_1_1)_ 1
     held(0_1_1) c_e_held_in_all(0_1)_ 1
     held(0_1_1) c_u_capacity(1_1)_ 1
     held(0_1_1) c_u_link_of_holders(0_1_1)_ 1
     held(0_1_2) c_u_held_running(0_1_2)_ -1
     held(0_1_2) c_u_held_no_more(0_1_2)_ 1
     held(0_1_2) c_e_held_in_all(0_2)_ 1
     held(0_1_2) c_u_capacity(1_2)_ 1
     held(0_1_2) c_u_link_of_holders(0_1_2)_ 1
     held(0_1_3) c_u_held_running(0_1_3)_ -1
     held(0_1_3) c_u_held_no_more(0_1_3)_ 1
     held(0_1_3) c_e_held_in_all(0_3)_ 1
     held(0_1_3) c_u_capacity(1_3)_ 1
     held(0_1_3) c_u_link_of_holders(0_1_3)_ 1
     held(0_1_4) c_u_held_running(0_1_4)_ -1
     held(0_1_4) c_u_held_no_more(0_1_4)_ 1
     held(0_1_4) c_e_held_in_all(0_4)_ 1
     held(0_1_4) c_u_capacity(1_4)_ 1
     held(0_1_4) c_u_link_of_holders(0_1_4)_ 1
     held(0_1_5) c_u_held_running(0_1_5)_ -1
     held(0_1_5) c_u_held_no_more(0_1_5)_ 1
     held(0_1_5) c_e_held_in_all(0_5)_ 1
     held(0_1_5) c_u_capacity(1_5)_ 1
     held(0_1_5) c_u_link_of_holders(0_1_5)_ 1
     held(0_2_0) c_u_held_running(0_2_0)_ -1
     held(0_2_0) c_u_held_no_more(0_2_0)_ 1
     held(0_2_0) c_e_held_in_all(0_0)_ 1
     held(0_2_0) c_u_capacity(2_0)_ 1
     held(0_2_0) c_u_link_of_holders(0_2_0)_ 1
     held(0_2_1) c_u_held_running(0_2_1)_ -1
     held(0_2_1) c_u_held_no_more(0_2_1)_ 1
     held(0_2_1) c_e_held_in_all(0_1)_ 1
     held(0_2_1) c_u_capacity(2_1)_ 1
     held(0_2_1) c_u_link_of_holders(0_2_1)_ 1
     held(0_2_2) c_u_held_running(0_2_2)_ -1
     held(0_2_2) c_u_held_no_more(0_2_2)_ 1
     held(0_2_2) c_e_held_in_all(0_2)_ 1
     held(0_2_2) c_u_capacity(2_2)_ 1
     held(0_2_2) c_u_link_of_holders(0_2_2)_ 1
     held(0_2_3) c_u_held_running(0_2_3)_ -1
     held(0_2_3) c_u_held_no_more(0_2_3)_ 1
     held(0_2_3) c_e_held_in_all(0_3)_ 1
     held(0_2_3) c_u_capacity(2_3)_ 1
     held(0_2_3) c_u_link_of_holders(0_2_3)_ 1
     held(0_2_4) c_u_held_running(0_2_4)_ -1
     held(0_2_4) c_u_held_no_more(0_2_4)_ 1
     held(0_2_4) c_e_held_in_all(0_4)_ 1
     held(0_2_4) c_u_capacity(2_4)_ 1
     held(0_2_4) c_u_link_of_holders(0_2_4)_ 1
     held(0_2_5) c_u_held_running(0_2_5)_ -1
     held(0_2_5) c_u_held_no_more(0_2_5)_ 1
     held(0_2_5) c_e_held_in_all(0_5)_ 1
     held(0_2_5) c_u_capacity(2_5)_ 1
     held(0_2_5) c_u_link_of_holders(0_2_5)_ 1
     held(1_0_0) c_u_held_running(1_0_0)_ -1
     held(1_0_0) c_u_held_no_more(1_0_0)_ 1
     held(1_0_0) c_e_held_in_all(1_0)_ 1
     held(1_0_0) c_u_capacity(0_0)_ 1
     held(1_0_0) c_u_link_of_holders(1_0_0)_ 1
     held(1_0_1) c_u_held_running(1_0_1)_ -1
     held(1_0_1) c_u_held_no_more(1_0_1)_ 1
     held(1_0_1) c_e_held_in_all(1_1)_ 1
     held(1_0_1) c_u_capacity(0_1)_ 1
     held(1_0_1) c_u_link_of_holders(1_0_1)_ 1
     held(1_0_2) c_u_held_running(1_0_2)_ -1
     held(1_0_2) c_u_held_no_more(1_0_2)_ 1
     held(1_0_2) c_e_held_in_all(1_2)_ 1
     held(1_0_2) c_u_capacity(0_2)_ 1
     held(1_0_2) c_u_link_of_holders(1_0_2)_ 1
     held(1_0_3) c_u_held_running(1_0_3)_ -1
     held(1_0_3) c_u_held_no_more(1_0_3)_ 1
     held(1_0_3) c_e_held_in_all(1_3)_ 1
     held(1_0_3) c_u_capacity(0_3)_ 1
     held(1_0_3) c_u_link_of_holders(1_0_3)_ 1
     held(1_0_4) c_u_held_running(1_0_4)_ -1
     held(1_0_4) c_u_held_no_more(1_0_4)_ 1
     held(1_0_4) c_e_held_in_all(1_4)_ 1
     held(1_0_4) c_u_capacity(0_4)_ 1
     held(1_0_4) c_u_link_of_holders(1_0_4)_ 1
     held(1_0_5) c_u_held_running(1_0_5)_ -1
     held(1_0_5) c_u_held_no_more(1_0_5)_ 1
     held(1_0_5) c_e_held_in_all(1_5)_ 1
     held(1_0_5) c_u_capacity(0_5)_ 1
     held(1_0_5) c_u_link_of_holders(1_0_5)_ 1
     held(1_1_0) c_u_held_running(1_1_0)_ -1
     held(1_1_0) c_u_held_no_more(1_1_0)_ 1
     held(1_1_0) c_e_held_in_all(1_0)_ 1
     held(1_1_0) c_u_capacity(1_0)_ 1
     held(1_1_0) c_u_link_of_holders(1_1_0)_ 1
     held(1_1_1) c_u_held_running(1_1_1)_ -1
     held(1_1_1) c_u_held_no_more(1_1_1)_ 1
     held(1_1_1) c_e_held_in_all(1_1)_ 1
     held(1_1_1) c_u_capacity(1_1)_ 1
     held(1_1_1) c_u_link_of_holders(1_1_1)_ 1
     held(1_1_2) c_u_held_running(1_1_2)_ -1
     held(1_1_2) c_u_held_no_more(1_1_2)_ 1
     held(1_1_2) c_e_held_in_all(1_2)_ 1
     held(1_1_2) c_u_capacity(1_2)_ 1
     held(1_1_2) c_u_link_of_holders(1_1_2)_ 1
     held(1_1_3) c_u_held_running(1_1_3)_ -1
     held(1_1_3) c_u_held_no_more(1_1_3)_ 1
     held(1_1_3) c_e_held_in_all(1_3)_ 1
     held(1_1_3) c_u_capacity(1_3)_ 1
     held(1_1_3) c_u_link_of_holders(1_1_3)_ 1
     held(1_1_4) c_u_held_running(1_1_4)_ -1
     held(1_1_4) c_u_held_no_more(1_1_4)_ 1
     held(1_1_4) c_e_held_in_all(1_4)_ 1
     held(1_1_4) c_u_capacity(1_4)_ 1
     held(1_1_4) c_u_link_of_holders(1_1_4)_ 1
     held(1_1_5) c_u_held_running(1_1_5)_ -1
     held(1_1_5) c_u_held_no_more(1_1_5)_ 1
     held(1_1_5) c_e_held_in_all(1_5)_ 1
     held(1_1_5) c_u_capacity(1_5)_ 1
     held(1_1_5) c_u_link_of_holders(1_1_5)_ 1
     held(1_2_0) c_u_held_running(1_2_0)_ -1
     held(1_2_0) c_u_held_no_more(1_2_0)_ 1
     held(1_2_0) c_e_held_in_all(1_0)_ 1
     held(1_2_0) c_u_capacity(2_0)_ 1
     held(1_2_0) c_u_link_of_holders(1_2_0)_ 1
     held(1_2_1) c_u_held_running(1_2_1)_ -1
     held(1_2_1) c_u_held_no_more(1_2_1)_ 1
     held(1_2_1) c_e_held_in_all(1_1)_ 1
     held(1_2_1) c_u_capacity(2_1)_ 1
     held(1_2_1) c_u_link_of_holders(1_2_1)_ 1
     held(1_2_2) c_u_held_running(1_2_2)_ -1
     held(1_2_2) c_u_held_no_more(1_2_2)_ 1
     held(1_2_2) c_e_held_in_all(1_2)_ 1
     held(1_2_2) c_u_capacity(2_2)_ 1
     held(1_2_2) c_u_link_of_holders(1_2_2)_ 1
     held(1_2_3) c_u_held_running(1_2_3)_ -1
     held(1_2_3) c_u_held_no_more(1_2_3)_ 1
     held(1_2_3) c_e_held_in_all(1_3)_ 1
     held(1_2_3) c_u_capacity(2_3)_ 1
     held(1_2_3) c_u_link_of_holders(1_2_3)_ 1
     held(1_2_4) c_u_held_running(1_2_4)_ -1
     held(1_2_4) c_u_held_no_more(1_2_4)_ 1
     held(1_2_4) c_e_held_in_all(1_4)_ 1
     held(1_2_4) c_u_capacity(2_4)_ 1
     held(1_2_4) c_u_link_of_holders(1_2_4)_ 1
     held(1_2_5) c_u_held_running(1_2_5)_ -1
     held(1_2_5) c_u_held_no_more(1_2_5)_ 1
     held(1_2_5) c_e_held_in_all(1_5)_ 1
     held(1_2_5) c_u_capacity(2_5)_ 1
     held(1_2_5) c_u_link_of_holders(1_2_5)_ 1
     on_link(0_0_0) c_u_link_taken(0_0_0)_ -1
     on_link(0_0_0) c_u_link_of_used(0_0_0)_ 1
     on_link(0_0_0) c_u_link_of_holders(0_0_0)_ -2
     on_link(0_0_0) c_u_worst_link(0_0_0)_ 3
     on_link(0_0_0) c_u_worst_link(1_0_0)_ 1
     on_link(0_0_1) c_u_link_taken(0_0_1)_ -1
     on_link(0_0_1) c_u_link_of_used(0_0_1)_ 1
     on_link(0_0_1) c_u_link_of_holders(0_0_1)_ -2
     on_link(0_0_1) c_u_worst_link(0_0_1)_ 3
     on_link(0_0_1) c_u_worst_link(1_0_1)_ 1
     on_link(0_0_2) c_u_link_taken(0_0_2)_ -1
     on_link(0_0_2) c_u_link_of_used(0_0_2)_ 1
     on_link(0_0_2) c_u_link_of_holders(0_0_2)_ -2
     on_link(0_0_2) c_u_worst_link(0_0_2)_ 3
     on_link(0_0_2) c_u_worst_link(1_0_2)_ 1
     on_link(0_0_3) c_u_link_taken(0_0_3)_ -1
     on_link(0_0_3) c_u_link_of_used(0_0_3)_ 1
     on_link(0_0_3) c_u_link_of_holders(0_0_3)_ -2
     on_link(0_0_3) c_u_worst_link(0_0_3)_ 3
     on_link(0_0_3) c_u_worst_link(1_0_3)_ 1
     on_link(0_0_4) c_u_link_taken(0_0_4)_ -1
     on_link(0_0_4) c_u_link_of_used(0_0_4)_ 1
     on_link(0_0_4) c_u_link_of_holders(0_0_4)_ -2
     on_link(0_0_4) c_u_worst_link(0_0_4)_ 3
     on_link(0_0_4) c_u_worst_link(1_0_4)_ 1
     on_link(0_0_5) c_u_link_taken(0_0_5)_ -1
     on_link(0_0_5) c_u_link_of_used(0_0_5)_ 1
     on_link(0_0_5) c_u_link_of_holders(0_0_5)_ -2
     on_link(0_0_5) c_u_worst_link(0_0_5)_ 3
     on_link(0_0_5) c_u_worst_link(1_0_5)_ 1
     on_link(0_1_0) c_u_link_taken(0_1_0)_ -1
     on_link(0_1_0) c_u_link_of_used(0_1_0)_ 1
     on_link(0_1_0) c_u_link_of_holders(0_1_0)_ -2
     on_link(0_1_0) c_u_worst_link(0_1_0)_ 3
     on_link(0_1_0) c_u_worst_link(1_1_0)_ 1
     on_link(0_1_1) c_u_link_taken(0_1_1)_ -1
     on_link(0_1_1) c_u_link_of_used(0_1_1)_ 1
     on_link(0_1_1) c_u_link_of_holders(0_1_1)_ -2
     on_link(0_1_1) c_u_worst_link(0_1_1)_ 3
     on_link(0_1_1) c_u_worst_link(1_1_1)_ 1
     on_link(0_1_2) c_u_link_taken(0_1_2)_ -1
     on_link(0_1_2) c_u_link_of_used(0_1_2)_ 1
     on_link(0_1_2) c_u_link_of_holders(0_1_2)_ -2
     on_link(0_1_2) c_u_worst_link(0_1_2)_ 3
     on_link(0_1_2) c_u_worst_link(1_1_2)_ 1
     on_link(0_1_3) c_u_link_taken(0_1_3)_ -1
     on_link(0_1_3) c_u_link_of_used(0_1_3)_ 1
     on_link(0_1_3) c_u_link_of_holders(0_1_3)_ -2
     on_link(0_1_3) c_u_worst_link(0_1_3)_ 3
     on_link(0_1_3) c_u_worst_link(1_1_3)_ 1
     on_link(0_1_4) c_u_link_taken(0_1_4)_ -1
     on_link(0_1_4) c_u_link_of_used(0_1_4)_ 1
     on_link(0_1_4) c_u_link_of_holders(0_1_4)_ -2
     on_link(0_1_4) c_u_worst_link(0_1_4)_ 3
     on_link(0_1_4) c_u_worst_link(1_1_4)_ 1
     on_link(0_1_5) c_u_link_taken(0_1_5)_ -1
     on_link(0_1_5) c_u_link_of_used(0_1_5)_ 1
     on_link(0_1_5) c_u_link_of_holders(0_1_5)_ -2
     on_link(0_1_5) c_u_worst_link(0_1_5)_ 3
     on_link(0_1_5) c_u_worst_link(1_1_5)_ 1
     on_link(0_2_0) c_u_link_taken(0_2_0)_ -1
     on_link(0_2_0) c_u_link_of_used(0_2_0)_ 1
     on_link(0_2_0) c_u_link_of_holders(0_2_0)_ -2
     on_link(0_2_0) c_u_worst_link(0_2_0)_ 3
     on_link(0_2_0) c_u_worst_link(1_2_0)_ 1
     on_link(0_2_1) c_u_link_taken(0_2_1)_ -1
     on_link(0_2_1) c_u_link_of_used(0_2_1)_ 1
     on_link(0_2_1) c_u_link_of_holders(0_2_1)_ -2
     on_link(0_2_1) c_u_worst_link(0_2_1)_ 3
     on_link(0_2_1) c_u_worst_link(1_2_1)_ 1
     on_link(0_2_2) c_u_link_taken(0_2_2)_ -1
     on_link(0_2_2) c_u_link_of_used(0_2_2)_ 1
     on_link(0_2_2) c_u_link_of_holders(0_2_2)_ -2
     on_link(0_2_2) c_u_worst_link(0_2_2)_ 3
     on_link(0_2_2) c_u_worst_link(1_2_2)_ 1
     on_link(0_2_3) c_u_link_taken(0_2_3)_ -1
     on_link(0_2_3) c_u_link_of_used(0_2_3)_ 1
     on_link(0_2_3) c_u_link_of_holders(0_2_3)_ -2
     on_link(0_2_3) c_u_worst_link(0_2_3)_ 3
     on_link(0_2_3) c_u_worst_link(1_2_3)_ 1
     on_link(0_2_4) c_u_link_taken(0_2_4)_ -1
     on_link(0_2_4) c_u_link_of_used(0_2_4)_ 1
     on_link(0_2_4) c_u_link_of_holders(0_2_4)_ -2
     on_link(0_2_4) c_u_worst_link(0_2_4)_ 3
     on_link(0_2_4) c_u_worst_link(1_2_4)_ 1
     on_link(0_2_5) c_u_link_taken(0_2_5)_ -1
     on_link(0_2_5) c_u_link_of_used(0_2_5)_ 1
     on_link(0_2_5) c_u_link_of_holders(0_2_5)_ -2
     on_link(0_2_5) c_u_worst_link(0_2_5)_ 3
     on_link(0_2_5) c_u_worst_link(1_2_5)_ 1
     on_link(1_0_0) c_u_link_taken(1_0_0)_ -1
     on_link(1_0_0) c_u_link_of_used(1_0_0)_ 1
     on_link(1_0_0) c_u_link_of_holders(1_0_0)_ -2
     on_link(1_0_0) c_u_worst_link(0_0_0)_ 1
     on_link(1_0_0) c_u_worst_link(1_0_0)_ 3
     on_link(1_0_1) c_u_link_taken(1_0_1)_ -1
     on_link(1_0_1) c_u_link_of_used(1_0_1)_ 1
     on_link(1_0_1) c_u_link_of_holders(1_0_1)_ -2
     on_link(1_0_1) c_u_worst_link(0_0_1)_ 1
     on_link(1_0_1) c_u_worst_link(1_0_1)_ 3
     on_link(1_0_2) c_u_link_taken(1_0_2)_ -1
     on_link(1_0_2) c_u_link_of_used(1_0_2)_ 1
     on_link(1_0_2) c_u_link_of_holders(1_0_2)_ -2
     on_link(1_0_2) c_u_worst_link(0_0_2)_ 1
     on_link(1_0_2) c_u_worst_link(1_0_2)_ 3
     on_link(1_0_3) c_u_link_taken(1_0_3)_ -1
     on_link(1_0_3) c_u_link_of_used(1_0_3)_ 1
     on_link(1_0_3) c_u_link_of_holders(1_0_3)_ -2
     on_link(1_0_3) c_u_worst_link(0_0_3)_ 1
     on_link(1_0_3) c_u_worst_link(1_0_3)_ 3
     on_link(1_0_4) c_u_link_taken(1_0_4)_ -1
     on_link(1_0_4) c_u_link_of_used(1_0_4)_ 1
     on_link(1_0_4) c_u_link_of_holders(1_0_4)_ -2
     on_link(1_0_4) c_u_worst_link(0_0_4)_ 1
     on_link(1_0_4) c_u_worst_link(1_0_4)_ 3
     on_link(1_0_5) c_u_link_taken(1_0_5)_ -1
     on_link(1_0_5) c_u_link_of_used(1_0_5)_ 1
     on_link(1_0_5) c_u_link_of_holders(1_0_5)_ -2
     on_link(1_0_5) c_u_worst_link(0_0_5)_ 1
     on_link(1_0_5) c_u_worst_link(1_0_5)_ 3
     on_link(1_1_0) c_u_link_taken(1_1_0)_ -1
     on_link(1_1_0) c_u_link_of_used(1_1_0)_ 1
     on_link(1_1_0) c_u_link_of_holders(1_1_0)_ -2
     on_link(1_1_0) c_u_worst_link(0_1_0)_ 1
     on_link(1_1_0) c_u_worst_link(1_1_0)_ 3
     on_link(1_1_1) c_u_link_taken(1_1_1)_ -1
     on_link(1_1_1) c_u_link_of_used(1_1_1)_ 1
     on_link(1_1_1) c_u_link_of_holders(1_1_1)_ -2
     on_link(1_1_1) c_u_worst_link(0_1_1)_ 1
     on_link(1_1_1) c_u_worst_link(1_1_1)_ 3
     on_link(1_1_2) c_u_link_taken(1_1_2)_ -1
     on_link(1_1_2) c_u_link_of_used(1_1_2)_ 1
     on_link(1_1_2) c_u_link_of_holders(1_1_2)_ -2
     on_link(1_1_2) c_u_worst_link(0_1_2)_ 1
     on_link(1_1_2) c_u_worst_link(1_1_2)_ 3
     on_link(1_1_3) c_u_link_taken(1_1_3)_ -1
     on_link(1_1_3) c_u_link_of_used(1_1_3)_ 1
     on_link(1_1_3) c_u_link_of_holders(1_1_3)_ -2
     on_link(1_1_3) c_u_worst_link(0_1_3)_ 1
     on_link(1_1_3) c_u_worst_link(1_1_3)_ 3
     on_link(1_1_4) c_u_link_taken(1_1_4)_ -1
     on_link(1_1_4) c_u_link_of_used(1_1_4)_ 1
     on_link(1_1_4) c_u_link_of_holders(1_1_4)_ -2
     on_link(1_1_4) c_u_worst_link(0_1_4)_ 1
     on_link(1_1_4) c_u_worst_link(1_1_4)_ 3
     on_link(1_1_5) c_u_link_taken(1_1_5)_ -1
     on_link(1_1_5) c_u_link_of_used(1_1_5)_ 1
     on_link(1_1_5) c_u_link_of_holders(1_1_5)_ -2
     on_link(1_1_5) c_u_worst_link(0_1_5)_ 1
     on_link(1_1_5) c_u_worst_link(1_1_5)_ 3
     on_link(1_2_0) c_u_link_taken(1_2_0)_ -1
     on_link(1_2_0) c_u_link_of_used(1_2_0)_ 1
     on_link(1_2_0) c_u_link_of_holders(1_2_0)_ -2
     on_link(1_2_0) c_u_worst_link(0_2_0)_ 1
     on_link(1_2_0) c_u_worst_link(1_2_0)_ 3
     on_link(1_2_1) c_u_link_taken(1_2_1)_ -1
     on_link(1_2_1) c_u_link_of_used(1_2_1)_ 1
     on_link(1_2_1) c_u_link_of_holders(1_2_1)_ -2
     on_link(1_2_1) c_u_worst_link(0_2_1)_ 1
     on_link(1_2_1) c_u_worst_link(1_2_1)_ 3
     on_link(1_2_2) c_u_link_taken(1_2_2)_ -1
     on_link(1_2_2) c_u_link_of_used(1_2_2)_ 1
     on_link(1_2_2) c_u_link_of_holders(1_2_2)_ -2
     on_link(1_2_2) c_u_worst_link(0_2_2)_ 1
     on_link(1_2_2) c_u_worst_link(1_2_2)_ 3
     on_link(1_2_3) c_u_link_taken(1_2_3)_ -1
     on_link(1_2_3) c_u_link_of_used(1_2_3)_ 1
     on_link(1_2_3) c_u_link_of_holders(1_2_3)_ -2
     on_link(1_2_3) c_u_worst_link(0_2_3)_ 1
     on_link(1_2_3) c_u_worst_link(1_2_3)_ 3
     on_link(1_2_4) c_u_link_taken(1_2_4)_ -1
     on_link(1_2_4) c_u_link_of_used(1_2_4)_ 1
     on_link(1_2_4) c_u_link_of_holders(1_2_4)_ -2
     on_link(1_2_4) c_u_worst_link(0_2_4)_ 1
     on_link(1_2_4) c_u_worst_link(1_2_4)_ 3
     on_link(1_2_5) c_u_link_taken(1_2_5)_ -1
     on_link(1_2_5) c_u_link_of_used(1_2_5)_ 1
     on_link(1_2_5) c_u_link_of_holders(1_2_5)_ -2
     on_link(1_2_5) c_u_worst_link(0_2_5)_ 1
     on_link(1_2_5) c_u_worst_link(1_2_5)_ 3
     level(0_2_0_1) c_e_one_level(0_2_0)_ 1
     level(0_2_0_1) c_u_worst_link(0_0_0)_ -1
     level(0_2_0_1) c_u_worst_link(0_1_0)_ -1
     level(0_2_0_1) c_u_worst_link(0_2_0)_ -1
     level(0_2_0_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_0_2) c_e_one_level(0_2_0)_ 1
     level(0_2_0_2) c_u_worst_link(0_0_0)_ -2
     level(0_2_0_2) c_u_worst_link(0_1_0)_ -2
     level(0_2_0_2) c_u_worst_link(0_2_0)_ -2
     level(0_2_0_2) c_u_iterations(0)_ -0.25
     level(0_2_1_1) c_e_one_level(0_2_1)_ 1
     level(0_2_1_1) c_u_worst_link(0_0_1)_ -1
     level(0_2_1_1) c_u_worst_link(0_1_1)_ -1
     level(0_2_1_1) c_u_worst_link(0_2_1)_ -1
     level(0_2_1_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_1_2) c_e_one_level(0_2_1)_ 1
     level(0_2_1_2) c_u_worst_link(0_0_1)_ -2
     level(0_2_1_2) c_u_worst_link(0_1_1)_ -2
     level(0_2_1_2) c_u_worst_link(0_2_1)_ -2
     level(0_2_1_2) c_u_iterations(0)_ -0.25
     level(0_2_2_1) c_e_one_level(0_2_2)_ 1
     level(0_2_2_1) c_u_worst_link(0_0_2)_ -1
     level(0_2_2_1) c_u_worst_link(0_1_2)_ -1
     level(0_2_2_1) c_u_worst_link(0_2_2)_ -1
     level(0_2_2_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_2_2) c_e_one_level(0_2_2)_ 1
     level(0_2_2_2) c_u_worst_link(0_0_2)_ -2
     level(0_2_2_2) c_u_worst_link(0_1_2)_ -2
     level(0_2_2_2) c_u_worst_link(0_2_2)_ -2
     level(0_2_2_2) c_u_iterations(0)_ -0.25
     level(0_2_3_1) c_e_one_level(0_2_3)_ 1
     level(0_2_3_1) c_u_worst_link(0_0_3)_ -1
     level(0_2_3_1) c_u_worst_link(0_1_3)_ -1
     level(0_2_3_1) c_u_worst_link(0_2_3)_ -1
     level(0_2_3_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_3_2) c_e_one_level(0_2_3)_ 1
     level(0_2_3_2) c_u_worst_link(0_0_3)_ -2
     level(0_2_3_2) c_u_worst_link(0_1_3)_ -2
     level(0_2_3_2) c_u_worst_link(0_2_3)_ -2
     level(0_2_3_2) c_u_iterations(0)_ -0.25
     level(0_2_4_1) c_e_one_level(0_2_4)_ 1
     level(0_2_4_1) c_u_worst_link(0_0_4)_ -1
     level(0_2_4_1) c_u_worst_link(0_1_4)_ -1
     level(0_2_4_1) c_u_worst_link(0_2_4)_ -1
     level(0_2_4_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_4_2) c_e_one_level(0_2_4)_ 1
     level(0_2_4_2) c_u_worst_link(0_0_4)_ -2
     level(0_2_4_2) c_u_worst_link(0_1_4)_ -2
     level(0_2_4_2) c_u_worst_link(0_2_4)_ -2
     level(0_2_4_2) c_u_iterations(0)_ -0.25
     level(0_2_5_1) c_e_one_level(0_2_5)_ 1
     level(0_2_5_1) c_u_worst_link(0_0_5)_ -1
     level(0_2_5_1) c_u_worst_link(0_1_5)_ -1
     level(0_2_5_1) c_u_worst_link(0_2_5)_ -1
     level(0_2_5_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_2_5_2) c_e_one_level(0_2_5)_ 1
     level(0_2_5_2) c_u_worst_link(0_0_5)_ -2
     level(0_2_5_2) c_u_worst_link(0_1_5)_ -2
     level(0_2_5_2) c_u_worst_link(0_2_5)_ -2
     level(0_2_5_2) c_u_iterations(0)_ -0.25
     level(0_3_0_1) c_e_one_level(0_3_0)_ 1
     level(0_3_0_1) c_u_worst_link(0_0_0)_ -1
     level(0_3_0_1) c_u_worst_link(0_1_0)_ -1
     level(0_3_0_1) c_u_worst_link(0_2_0)_ -1
     level(0_3_0_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_0_2) c_e_one_level(0_3_0)_ 1
     level(0_3_0_2) c_u_worst_link(0_0_0)_ -2
     level(0_3_0_2) c_u_worst_link(0_1_0)_ -2
     level(0_3_0_2) c_u_worst_link(0_2_0)_ -2
     level(0_3_0_2) c_u_iterations(0)_ -0.25
     level(0_3_1_1) c_e_one_level(0_3_1)_ 1
     level(0_3_1_1) c_u_worst_link(0_0_1)_ -1
     level(0_3_1_1) c_u_worst_link(0_1_1)_ -1
     level(0_3_1_1) c_u_worst_link(0_2_1)_ -1
     level(0_3_1_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_1_2) c_e_one_level(0_3_1)_ 1
     level(0_3_1_2) c_u_worst_link(0_0_1)_ -2
     level(0_3_1_2) c_u_worst_link(0_1_1)_ -2
     level(0_3_1_2) c_u_worst_link(0_2_1)_ -2
     level(0_3_1_2) c_u_iterations(0)_ -0.25
     level(0_3_2_1) c_e_one_level(0_3_2)_ 1
     level(0_3_2_1) c_u_worst_link(0_0_2)_ -1
     level(0_3_2_1) c_u_worst_link(0_1_2)_ -1
     level(0_3_2_1) c_u_worst_link(0_2_2)_ -1
     level(0_3_2_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_2_2) c_e_one_level(0_3_2)_ 1
     level(0_3_2_2) c_u_worst_link(0_0_2)_ -2
     level(0_3_2_2) c_u_worst_link(0_1_2)_ -2
     level(0_3_2_2) c_u_worst_link(0_2_2)_ -2
     level(0_3_2_2) c_u_iterations(0)_ -0.25
     level(0_3_3_1) c_e_one_level(0_3_3)_ 1
     level(0_3_3_1) c_u_worst_link(0_0_3)_ -1
     level(0_3_3_1) c_u_worst_link(0_1_3)_ -1
     level(0_3_3_1) c_u_worst_link(0_2_3)_ -1
     level(0_3_3_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_3_2) c_e_one_level(0_3_3)_ 1
     level(0_3_3_2) c_u_worst_link(0_0_3)_ -2
     level(0_3_3_2) c_u_worst_link(0_1_3)_ -2
     level(0_3_3_2) c_u_worst_link(0_2_3)_ -2
     level(0_3_3_2) c_u_iterations(0)_ -0.25
     level(0_3_4_1) c_e_one_level(0_3_4)_ 1
     level(0_3_4_1) c_u_worst_link(0_0_4)_ -1
     level(0_3_4_1) c_u_worst_link(0_1_4)_ -1
     level(0_3_4_1) c_u_worst_link(0_2_4)_ -1
     level(0_3_4_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_4_2) c_e_one_level(0_3_4)_ 1
     level(0_3_4_2) c_u_worst_link(0_0_4)_ -2
     level(0_3_4_2) c_u_worst_link(0_1_4)_ -2
     level(0_3_4_2) c_u_worst_link(0_2_4)_ -2
     level(0_3_4_2) c_u_iterations(0)_ -0.25
     level(0_3_5_1) c_e_one_level(0_3_5)_ 1
     level(0_3_5_1) c_u_worst_link(0_0_5)_ -1
     level(0_3_5_1) c_u_worst_link(0_1_5)_ -1
     level(0_3_5_1) c_u_worst_link(0_2_5)_ -1
     level(0_3_5_1) c_u_iterations(0)_ -0.33333333333333331
     level(0_3_5_2) c_e_one_level(0_3_5)_ 1
     level(0_3_5_2) c_u_worst_link(0_0_5)_ -2
     level(0_3_5_2) c_u_worst_link(0_1_5)_ -2
     level(0_3_5_2) c_u_worst_link(0_2_5)_ -2
     level(0_3_5_2) c_u_iterations(0)_ -0.25
     level(1_2_0_1) c_e_one_level(1_2_0)_ 1
     level(1_2_0_1) c_u_worst_link(1_0_0)_ -1
     level(1_2_0_1) c_u_worst_link(1_1_0)_ -1
     level(1_2_0_1) c_u_worst_link(1_2_0)_ -1
     level(1_2_0_1) c_u_iterations(1)_ -0.5
     level(1_2_0_2) c_e_one_level(1_2_0)_ 1
     level(1_2_0_2) c_u_worst_link(1_0_0)_ -2
     level(1_2_0_2) c_u_worst_link(1_1_0)_ -2
     level(1_2_0_2) c_u_worst_link(1_2_0)_ -2
     level(1_2_0_2) c_u_iterations(1)_ -0.375
     level(1_2_1_1) c_e_one_level(1_2_1)_ 1
     level(1_2_1_1) c_u_worst_link(1_0_1)_ -1
     level(1_2_1_1) c_u_worst_link(1_1_1)_ -1
     level(1_2_1_1) c_u_worst_link(1_2_1)_ -1
     level(1_2_1_1) c_u_iterations(1)_ -0.5
     level(1_2_1_2) c_e_one_level(1_2_1)_ 1
     level(1_2_1_2) c_u_worst_link(1_0_1)_ -2
     level(1_2_1_2) c_u_worst_link(1_1_1)_ -2
     level(1_2_1_2) c_u_worst_link(1_2_1)_ -2
     level(1_2_1_2) c_u_iterations(1)_ -0.375
     level(1_2_2_1) c_e_one_level(1_2_2)_ 1
     level(1_2_2_1) c_u_worst_link(1_0_2)_ -1
     level(1_2_2_1) c_u_worst_link(1_1_2)_ -1
     level(1_2_2_1) c_u_worst_link(1_2_2)_ -1
     level(1_2_2_1) c_u_iterations(1)_ -0.5
     level(1_2_2_2) c_e_one_level(1_2_2)_ 1
     level(1_2_2_2) c_u_worst_link(1_0_2)_ -2
     level(1_2_2_2) c_u_worst_link(1_1_2)_ -2
     level(1_2_2_2) c_u_worst_link(1_2_2)_ -2
     level(1_2_2_2) c_u_iterations(1)_ -0.375
     level(1_2_3_1) c_e_one_level(1_2_3)_ 1
     level(1_2_3_1) c_u_worst_link(1_0_3)_ -1
     level(1_2_3_1) c_u_worst_link(1_1_3)_ -1
     level(1_2_3_1) c_u_worst_link(1_2_3)_ -1
     level(1_2_3_1) c_u_iterations(1)_ -0.5
     level(1_2_3_2) c_e_one_level(1_2_3)_ 1
     level(1_2_3_2) c_u_worst_link(1_0_3)_ -2
     level(1_2_3_2) c_u_worst_link(1_1_3)_ -2
     level(1_2_3_2) c_u_worst_link(1_2_3)_ -2
     level(1_2_3_2) c_u_iterations(1)_ -0.375
     level(1_2_4_1) c_e_one_level(1_2_4)_ 1
     level(1_2_4_1) c_u_worst_link(1_0_4)_ -1
     level(1_2_4_1) c_u_worst_link(1_1_4)_ -1
     level(1_2_4_1) c_u_worst_link(1_2_4)_ -1
     level(1_2_4_1) c_u_iterations(1)_ -0.5
     level(1_2_4_2) c_e_one_level(1_2_4)_ 1
     level(1_2_4_2) c_u_worst_link(1_0_4)_ -2
     level(1_2_4_2) c_u_worst_link(1_1_4)_ -2
     level(1_2_4_2) c_u_worst_link(1_2_4)_ -2
     level(1_2_4_2) c_u_iterations(1)_ -0.375
     level(1_2_5_1) c_e_one_level(1_2_5)_ 1
     level(1_2_5_1) c_u_worst_link(1_0_5)_ -1
     level(1_2_5_1) c_u_worst_link(1_1_5)_ -1
     level(1_2_5_1) c_u_worst_link(1_2_5)_ -1
     level(1_2_5_1) c_u_iterations(1)_ -0.5
     level(1_2_5_2) c_e_one_level(1_2_5)_ 1
     level(1_2_5_2) c_u_worst_link(1_0_5)_ -2
     level(1_2_5_2) c_u_worst_link(1_1_5)_ -2
     level(1_2_5_2) c_u_worst_link(1_2_5)_ -2
     level(1_2_5_2) c_u_iterations(1)_ -0.375
     level(1_3_0_1) c_e_one_level(1_3_0)_ 1
     level(1_3_0_1) c_u_worst_link(1_0_0)_ -1
     level(1_3_0_1) c_u_worst_link(1_1_0)_ -1
     level(1_3_0_1) c_u_worst_link(1_2_0)_ -1
     level(1_3_0_1) c_u_iterations(1)_ -0.5
     level(1_3_0_2) c_e_one_level(1_3_0)_ 1
     level(1_3_0_2) c_u_worst_link(1_0_0)_ -2
     level(1_3_0_2) c_u_worst_link(1_1_0)_ -2
     level(1_3_0_2) c_u_worst_link(1_2_0)_ -2
     level(1_3_0_2) c_u_iterations(1)_ -0.375
     level(1_3_1_1) c_e_one_level(1_3_1)_ 1
     level(1_3_1_1) c_u_worst_link(1_0_1)_ -1
     level(1_3_1_1) c_u_worst_link(1_1_1)_ -1
     level(1_3_1_1) c_u_worst_link(1_2_1)_ -1
     level(1_3_1_1) c_u_iterations(1)_ -0.5
     level(1_3_1_2) c_e_one_level(1_3_1)_ 1
     level(1_3_1_2) c_u_worst_link(1_0_1)_ -2
     level(1_3_1_2) c_u_worst_link(1_1_1)_ -2
     level(1_3_1_2) c_u_worst_link(1_2_1)_ -2
     level(1_3_1_2) c_u_iterations(1)_ -0.375
     level(1_3_2_1) c_e_one_level(1_3_2)_ 1
     level(1_3_2_1) c_u_worst_link(1_0_2)_ -1
     level(1_3_2_1) c_u_worst_link(1_1_2)_ -1
     level(1_3_2_1) c_u_worst_link(1_2_2)_ -1
     level(1_3_2_1) c_u_iterations(1)_ -0.5
     level(1_3_2_2) c_e_one_level(1_3_2)_ 1
     level(1_3_2_2) c_u_worst_link(1_0_2)_ -2
     level(1_3_2_2) c_u_worst_link(1_1_2)_ -2
     level(1_3_2_2) c_u_worst_link(1_2_2)_ -2
     level(1_3_2_2) c_u_iterations(1)_ -0.375
     level(1_3_3_1) c_e_one_level(1_3_3)_ 1
     level(1_3_3_1) c_u_worst_link(1_0_3)_ -1
     level(1_3_3_1) c_u_worst_link(1_1_3)_ -1
     level(1_3_3_1) c_u_worst_link(1_2_3)_ -1
     level(1_3_3_1) c_u_iterations(1)_ -0.5
     level(1_3_3_2) c_e_one_level(1_3_3)_ 1
     level(1_3_3_2) c_u_worst_link(1_0_3)_ -2
     level(1_3_3_2) c_u_worst_link(1_1_3)_ -2
     level(1_3_3_2) c_u_worst_link(1_2_3)_ -2
     level(1_3_3_2) c_u_iterations(1)_ -0.375
     level(1_3_4_1) c_e_one_level(1_3_4)_ 1
     level(1_3_4_1) c_u_worst_link(1_0_4)_ -1
     level(1_3_4_1) c_u_worst_link(1_1_4)_ -1
     level(1_3_4_1) c_u_worst_link(1_2_4)_ -1
     level(1_3_4_1) c_u_iterations(1)_ -0.5
     level(1_3_4_2) c_e_one_level(1_3_4)_ 1
     level(1_3_4_2) c_u_worst_link(1_0_4)_ -2
     level(1_3_4_2) c_u_worst_link(1_1_4)_ -2
     level(1_3_4_2) c_u_worst_link(1_2_4)_ -2
     level(1_3_4_2) c_u_iterations(1)_ -0.375
     level(1_3_5_1) c_e_one_level(1_3_5)_ 1
     level(1_3_5_1) c_u_worst_link(1_0_5)_ -1
     level(1_3_5_1) c_u_worst_link(1_1_5)_ -1
     level(1_3_5_1) c_u_worst_link(1_2_5)_ -1
     level(1_3_5_1) c_u_iterations(1)_ -0.5
     level(1_3_5_2) c_e_one_level(1_3_5)_ 1
     level(1_3_5_2) c_u_worst_link(1_0_5)_ -2
     level(1_3_5_2) c_u_worst_link(1_1_5)_ -2
     level(1_3_5_2) c_u_worst_link(1_2_5)_ -2
     level(1_3_5_2) c_u_iterations(1)_ -0.375
RHS
     RHS c_e_runs_once(0)_ 1
     RHS c_e_runs_once(1)_ 1
     RHS c_u_ends(0)_ 0
     RHS c_u_ends(1)_ 0
     RHS c_e_all_gpus(0)_ 0
     RHS c_e_all_gpus(1)_ 0
     RHS c_e_all_servers(0)_ 0
     RHS c_e_all_servers(1)_ 0
     RHS c_u_at_least_one(0_0)_ 0
     RHS c_u_at_least_one(0_1)_ 0
     RHS c_u_at_least_one(0_2)_ 0
     RHS c_u_at_least_one(1_0)_ 0
     RHS c_u_at_least_one(1_1)_ 0
     RHS c_u_at_least_one(1_2)_ 0
     RHS c_u_only_if_used(0_0)_ 0
     RHS c_u_only_if_used(0_1)_ 0
     RHS c_u_only_if_used(0_2)_ 0
     RHS c_u_only_if_used(1_0)_ 0
     RHS c_u_only_if_used(1_1)_ 0
     RHS c_u_only_if_used(1_2)_ 0
     RHS c_u_held_running(0_0_0)_ 2
     RHS c_u_held_running(0_0_1)_ 2
     RHS c_u_held_running(0_0_2)_ 2
     RHS c_u_held_running(0_0_3)_ 2
     RHS c_u_held_running(0_0_4)_ 2
     RHS c_u_held_running(0_0_5)_ 2
     RHS c_u_held_running(0_1_0)_ 2
     RHS c_u_held_running(0_1_1)_ 2
     RHS c_u_held_running(0_1_2)_ 2
     RHS c_u_held_running(0_1_3)_ 2
     RHS c_u_held_running(0_1_4)_ 2
     RHS c_u_held_running(0_1_5)_ 2
     RHS c_u_held_running(0_2_0)_ 2
     RHS c_u_held_running(0_2_1)_ 2
     RHS c_u_held_running(0_2_2)_ 2
     RHS c_u_held_running(0_2_3)_ 2
     RHS c_u_held_running(0_2_4)_ 2
     RHS c_u_held_running(0_2_5)_ 2
     RHS c_u_held_running(1_0_0)_ 2
     RHS c_u_held_running(1_0_1)_ 2
     RHS c_u_held_running(1_0_2)_ 2
     RHS c_u_held_running(1_0_3)_ 2
     RHS c_u_held_running(1_0_4)_ 2
     RHS c_u_held_running(1_0_5)_ 2
     RHS c_u_held_running(1_1_0)_ 2
     RHS c_u_held_running(1_1_1)_ 2
     RHS c_u_held_running(1_1_2)_ 2
     RHS c_u_held_running(1_1_3)_ 2
     RHS c_u_held_running(1_1_4)_ 2
     RHS c_u_held_running(1_1_5)_ 2
     RHS c_u_held_running(1_2_0)_ 2
     RHS c_u_held_running(1_2_1)_ 2
     RHS c_u_held_running(1_2_2)_ 2
     RHS c_u_held_running(1_2_3)_ 2
     RHS c_u_held_running(1_2_4)_ 2
     RHS c_u_held_running(1_2_5)_ 2
     RHS c_u_held_no_more(0_0_0)_ 0
     RHS c_u_held_no_more(0_0_1)_ 0
     RHS c_u_held_no_more(0_0_2)_ 0
     RHS c_u_held_no_more(0_0_3)_ 0
     RHS c_u_held_no_more(0_0_4)_ 0
     RHS c_u_held_no_more(0_0_5)_ 0
     RHS c_u_held_no_more(0_1_0)_ 0
     RHS c_u_held_no_more(0_1_1)_ 0
     RHS c_u_held_no_more(0_1_2)_ 0
     RHS c_u_held_no_more(0_1_3)_ 0
     RHS c_u_held_no_more(0_1_4)_ 0
     RHS c_u_held_no_more(0_1_5)_ 0
     RHS c_u_held_no_more(0_2_0)_ 0
     RHS c_u_held_no_more(0_2_1)_ 0
     RHS c_u_held_no_more(0_2_2)_ 0
     RHS c_u_held_no_more(0_2_3)_ 0
     RHS c_u_held_no_more(0_2_4)_ 0
     RHS c_u_held_no_more(0_2_5)_ 0
     RHS c_u_held_no_more(1_0_0)_ 0
     RHS c_u_held_no_more(1_0_1)_ 0
     RHS c_u_held_no_more(1_0_2)_ 0
     RHS c_u_held_no_more(1_0_3)_ 0
     RHS c_u_held_no_more(1_0_4)_ 0
     RHS c_u_held_no_more(1_0_5)_ 0
     RHS c_u_held_no_more(1_1_0)_ 0
     RHS c_u_held_no_more(1_1_1)_ 0
     RHS c_u_held_no_more(1_1_2)_ 0
     RHS c_u_held_no_more(1_1_3)_ 0
     RHS c_u_held_no_more(1_1_4)_ 0
     RHS c_u_held_no_more(1_1_5)_ 0
     RHS c_u_held_no_more(1_2_0)_ 0
     RHS c_u_held_no_more(1_2_1)_ 0
     RHS c_u_held_no_more(1_2_2)_ 0
     RHS c_u_held_no_more(1_2_3)_ 0
     RHS c_u_held_no_more(1_2_4)_ 0
     RHS c_u_held_no_more(1_2_5)_ 0
     RHS c_e_held_in_all(0_0)_ 0
     RHS c_e_held_in_all(0_1)_ 0
     RHS c_e_held_in_all(0_2)_ 0
     RHS c_e_held_in_all(0_3)_ 0
     RHS c_e_held_in_all(0_4)_ 0
     RHS c_e_held_in_all(0_5)_ 0
     RHS c_e_held_in_all(1_0)_ 0
     RHS c_e_held_in_all(1_1)_ 0
     RHS c_e_held_in_all(1_2)_ 0
     RHS c_e_held_in_all(1_3)_ 0
     RHS c_e_held_in_all(1_4)_ 0
     RHS c_e_held_in_all(1_5)_ 0
     RHS c_u_capacity(0_0)_ 2
     RHS c_u_capacity(0_1)_ 2
     RHS c_u_capacity(0_2)_ 2
     RHS c_u_capacity(0_3)_ 2
     RHS c_u_capacity(0_4)_ 2
     RHS c_u_capacity(0_5)_ 2
     RHS c_u_capacity(1_0)_ 2
     RHS c_u_capacity(1_1)_ 2
     RHS c_u_capacity(1_2)_ 2
     RHS c_u_capacity(1_3)_ 2
     RHS c_u_capacity(1_4)_ 2
     RHS c_u_capacity(1_5)_ 2
     RHS c_u_capacity(2_0)_ 2
     RHS c_u_capacity(2_1)_ 2
     RHS c_u_capacity(2_2)_ 2
     RHS c_u_capacity(2_3)_ 2
     RHS c_u_capacity(2_4)_ 2
     RHS c_u_capacity(2_5)_ 2
     RHS c_u_link_taken(0_0_0)_ 1
     RHS c_u_link_taken(0_0_1)_ 1
     RHS c_u_link_taken(0_0_2)_ 1
     RHS c_u_link_taken(0_0_3)_ 1
     RHS c_u_link_taken(0_0_4)_ 1
     RHS c_u_link_taken(0_0_5)_ 1
     RHS c_u_link_taken(0_1_0)_ 1
     RHS c_u_link_taken(0_1_1)_ 1
     RHS c_u_link_taken(0_1_2)_ 1
     RHS c_u_link_taken(0_1_3)_ 1
     RHS c_u_link_taken(0_1_4)_ 1
     RHS c_u_link_taken(0_1_5)_ 1
     RHS c_u_link_taken(0_2_0)_ 1
     RHS c_u_link_taken(0_2_1)_ 1
     RHS c_u_link_taken(0_2_2)_ 1
     RHS c_u_link_taken(0_2_3)_ 1
     RHS c_u_link_taken(0_2_4)_ 1
     RHS c_u_link_taken(0_2_5)_ 1
     RHS c_u_link_taken(1_0_0)_ 1
     RHS c_u_link_taken(1_0_1)_ 1
     RHS c_u_link_taken(1_0_2)_ 1
     RHS c_u_link_taken(1_0_3)_ 1
     RHS c_u_link_taken(1_0_4)_ 1
     RHS c_u_link_taken(1_0_5)_ 1
     RHS c_u_link_taken(1_1_0)_ 1
     RHS c_u_link_taken(1_1_1)_ 1
     RHS c_u_link_taken(1_1_2)_ 1
     RHS c_u_link_taken(1_1_3)_ 1
     RHS c_u_link_taken(1_1_4)_ 1
     RHS c_u_link_taken(1_1_5)_ 1
     RHS c_u_link_taken(1_2_0)_ 1
     RHS c_u_link_taken(1_2_1)_ 1
     RHS c_u_link_taken(1_2_2)_ 1
     RHS c_u_link_taken(1_2_3)_ 1
     RHS c_u_link_taken(1_2_4)_ 1
     RHS c_u_link_taken(1_2_5)_ 1
     RHS c_u_link_of_used(0_0_0)_ 0
     RHS c_u_link_of_used(0_0_1)_ 0
     RHS c_u_link_of_used(0_0_2)_ 0
     RHS c_u_link_of_used(0_0_3)_ 0
     RHS c_u_link_of_used(0_0_4)_ 0
     RHS c_u_link_of_used(0_0_5)_ 0
     RHS c_u_link_of_used(0_1_0)_ 0
     RHS c_u_link_of_used(0_1_1)_ 0
     RHS c_u_link_of_used(0_1_2)_ 0
     RHS c_u_link_of_used(0_1_3)_ 0
     RHS c_u_link_of_used(0_1_4)_ 0
     RHS c_u_link_of_used(0_1_5)_ 0
     RHS c_u_link_of_used(0_2_0)_ 0
     RHS c_u_link_of_used(0_2_1)_ 0
     RHS c_u_link_of_used(0_2_2)_ 0
     RHS c_u_link_of_used(0_2_3)_ 0
     RHS c_u_link_of_used(0_2_4)_ 0
     RHS c_u_link_of_used(0_2_5)_ 0
     RHS c_u_link_of_used(1_0_0)_ 0
     RHS c_u_link_of_used(1_0_1)_ 0
     RHS c_u_link_of_used(1_0_2)_ 0
     RHS c_u_link_of_used(1_0_3)_ 0
     RHS c_u_link_of_used(1_0_4)_ 0
     RHS c_u_link_of_used(1_0_5)_ 0
     RHS c_u_link_of_used(1_1_0)_ 0
     RHS c_u_link_of_used(1_1_1)_ 0
     RHS c_u_link_of_used(1_1_2)_ 0
     RHS c_u_link_of_used(1_1_3)_ 0
     RHS c_u_link_of_used(1_1_4)_ 0
     RHS c_u_link_of_used(1_1_5)_ 0
     RHS c_u_link_of_used(1_2_0)_ 0
     RHS c_u_link_of_used(1_2_1)_ 0
     RHS c_u_link_of_used(1_2_2)_ 0
     RHS c_u_link_of_used(1_2_3)_ 0
     RHS c_u_link_of_used(1_2_4)_ 0
     RHS c_u_link_of_used(1_2_5)_ 0
     RHS c_u_link_of_holders(0_0_0)_ 0
     RHS c_u_link_of_holders(0_0_1)_ 0
     RHS c_u_link_of_holders(0_0_2)_ 0
     RHS c_u_link_of_holders(0_0_3)_ 0
     RHS c_u_link_of_holders(0_0_4)_ 0
     RHS c_u_link_of_holders(0_0_5)_ 0
     RHS c_u_link_of_holders(0_1_0)_ 0
     RHS c_u_link_of_holders(0_1_1)_ 0
     RHS c_u_link_of_holders(0_1_2)_ 0
     RHS c_u_link_of_holders(0_1_3)_ 0
     RHS c_u_link_of_holders(0_1_4)_ 0
     RHS c_u_link_of_holders(0_1_5)_ 0
     RHS c_u_link_of_holders(0_2_0)_ 0
     RHS c_u_link_of_holders(0_2_1)_ 0
     RHS c_u_link_of_holders(0_2_2)_ 0
     RHS c_u_link_of_holders(0_2_3)_ 0
     RHS c_u_link_of_holders(0_2_4)_ 0
     RHS c_u_link_of_holders(0_2_5)_ 0
     RHS c_u_link_of_holders(1_0_0)_ 0
     RHS c_u_link_of_holders(1_0_1)_ 0
     RHS c_u_link_of_holders(1_0_2)_ 0
     RHS c_u_link_of_holders(1_0_3)_ 0
     RHS c_u_link_of_holders(1_0_4)_ 0
     RHS c_u_link_of_holders(1_0_5)_ 0
     RHS c_u_link_of_holders(1_1_0)_ 0
     RHS c_u_link_of_holders(1_1_1)_ 0
     RHS c_u_link_of_holders(1_1_2)_ 0
     RHS c_u_link_of_holders(1_1_3)_ 0
     RHS c_u_link_of_holders(1_1_4)_ 0
     RHS c_u_link_of_holders(1_1_5)_ 0
     RHS c_u_link_of_holders(1_2_0)_ 0
     RHS c_u_link_of_holders(1_2_1)_ 0
     RHS c_u_link_of_holders(1_2_2)_ 0
     RHS c_u_link_of_holders(1_2_3)_ 0
     RHS c_u_link_of_holders(1_2_4)_ 0
     RHS c_u_link_of_holders(1_2_5)_ 0
     RHS c_e_one_level(0_2_0)_ 0
     RHS c_e_one_level(0_2_1)_ 0
     RHS c_e_one_level(0_2_2)_ 0
     RHS c_e_one_level(0_2_3)_ 0
     RHS c_e_one_level(0_2_4)_ 0
     RHS c_e_one_level(0_2_5)_ 0
     RHS c_e_one_level(0_3_0)_ 0
     RHS c_e_one_level(0_3_1)_ 0
     RHS c_e_one_level(0_3_2)_ 0
     RHS c_e_one_level(0_3_3)_ 0
     RHS c_e_one_level(0_3_4)_ 0
     RHS c_e_one_level(0_3_5)_ 0
     RHS c_e_one_level(1_2_0)_ 0
     RHS c_e_one_level(1_2_1)_ 0
     RHS c_e_one_level(1_2_2)_ 0
     RHS c_e_one_level(1_2_3)_ 0
     RHS c_e_one_level(1_2_4)_ 0
     RHS c_e_one_level(1_2_5)_ 0
     RHS c_e_one_level(1_3_0)_ 0
     RHS c_e_one_level(1_3_1)_ 0
     RHS c_e_one_level(1_3_2)_ 0
     RHS c_e_one_level(1_3_3)_ 0
     RHS c_e_one_level(1_3_4)_ 0
     RHS c_e_one_level(1_3_5)_ 0
     RHS c_u_worst_link(0_0_0)_ 2
     RHS c_u_worst_link(0_0_1)_ 2
     RHS c_u_worst_link(0_0_2)_ 2
     RHS c_u_worst_link(0_0_3)_ 2
     RHS c_u_worst_link(0_0_4)_ 2
     RHS c_u_worst_link(0_0_5)_ 2
     RHS c_u_worst_link(0_1_0)_ 2
     RHS c_u_worst_link(0_1_1)_ 2
     RHS c_u_worst_link(0_1_2)_ 2
     RHS c_u_worst_link(0_1_3)_ 2
     RHS c_u_worst_link(0_1_4)_ 2
     RHS c_u_worst_link(0_1_5)_ 2
     RHS c_u_worst_link(0_2_0)_ 2
     RHS c_u_worst_link(0_2_1)_ 2
     RHS c_u_worst_link(0_2_2)_ 2
     RHS c_u_worst_link(0_2_3)_ 2
     RHS c_u_worst_link(0_2_4)_ 2
     RHS c_u_worst_link(0_2_5)_ 2
     RHS c_u_worst_link(1_0_0)_ 2
     RHS c_u_worst_link(1_0_1)_ 2
     RHS c_u_worst_link(1_0_2)_ 2
     RHS c_u_worst_link(1_0_3)_ 2
     RHS c_u_worst_link(1_0_4)_ 2
     RHS c_u_worst_link(1_0_5)_ 2
     RHS c_u_worst_link(1_1_0)_ 2
     RHS c_u_worst_link(1_1_1)_ 2
     RHS c_u_worst_link(1_1_2)_ 2
     RHS c_u_worst_link(1_1_3)_ 2
     RHS c_u_worst_link(1_1_4)_ 2
     RHS c_u_worst_link(1_1_5)_ 2
     RHS c_u_worst_link(1_2_0)_ 2
     RHS c_u_worst_link(1_2_1)_ 2
     RHS c_u_worst_link(1_2_2)_ 2
     RHS c_u_worst_link(1_2_3)_ 2
     RHS c_u_worst_link(1_2_4)_ 2
     RHS c_u_worst_link(1_2_5)_ 2
     RHS c_u_iterations(0)_ 0
     RHS c_u_iterations(1)_ 0
BOUNDS
 BV BOUND spanning_run(0_2_0_3)
 BV BOUND spanning_run(0_2_0_4)
 BV BOUND spanning_run(0_2_1_3)
 BV BOUND spanning_run(0_2_1_4)
 BV BOUND spanning_run(0_2_2_3)
 BV BOUND spanning_run(0_2_2_4)
 BV BOUND spanning_run(0_2_3_3)
 BV BOUND spanning_run(0_3_0_3)
 BV BOUND spanning_run(0_3_0_4)
 BV BOUND spanning_run(0_3_1_3)
 BV BOUND spanning_run(0_3_1_4)
 BV BOUND spanning_run(0_3_2_3)
 BV BOUND spanning_run(0_3_2_4)
 BV BOUND spanning_run(0_3_3_3)
 BV BOUND spanning_run(1_2_0_2)
 BV BOUND spanning_run(1_2_0_3)
 BV BOUND spanning_run(1_2_1_2)
 BV BOUND spanning_run(1_2_1_3)
 BV BOUND spanning_run(1_2_2_2)
 BV BOUND spanning_run(1_2_2_3)
 BV BOUND spanning_run(1_2_3_2)
 BV BOUND spanning_run(1_2_3_3)
 BV BOUND spanning_run(1_2_4_2)
 BV BOUND spanning_run(1_3_0_2)
 BV BOUND spanning_run(1_3_0_3)
 BV BOUND spanning_run(1_3_1_2)
 BV BOUND spanning_run(1_3_1_3)
 BV BOUND spanning_run(1_3_2_2)
 BV BOUND spanning_run(1_3_2_3)
 BV BOUND spanning_run(1_3_3_2)
 BV BOUND spanning_run(1_3_3_3)
 BV BOUND spanning_run(1_3_4_2)
 LI BOUND last_end 3
 UI BOUND last_end 6
 LI BOUND gpus(0_0) 0
 UI BOUND gpus(0_0) 2
 LI BOUND gpus(0_1) 0
 UI BOUND gpus(0_1) 2
 LI BOUND gpus(0_2) 0
 UI BOUND gpus(0_2) 2
 LI BOUND gpus(1_0) 0
 UI BOUND gpus(1_0) 2
 LI BOUND gpus(1_1) 0
 UI BOUND gpus(1_1) 2
 LI BOUND gpus(1_2) 0
 UI BOUND gpus(1_2) 2
 BV BOUND uses(0_0)
 BV BOUND uses(0_1)
 BV BOUND uses(0_2)
 BV BOUND uses(1_0)
 BV BOUND uses(1_1)
 BV BOUND uses(1_2)
 LO BOUND held(0_0_0) 0
 UP BOUND held(0_0_0) 2
 LO BOUND held(0_0_1) 0
 UP BOUND held(0_0_1) 2
 LO BOUND held(0_0_2) 0
 UP BOUND held(0_0_2) 2
 LO BOUND held(0_0_3) 0
 UP BOUND held(0_0_3) 2
 LO BOUND held(0_0_4) 0
 UP BOUND held(0_0_4) 2
 LO BOUND held(0_0_5) 0
 UP BOUND held(0_0_5) 2
 LO BOUND held(0_1_0) 0
 UP BOUND held(0_1_0) 2
 LO BOUND held(0_1_1) 0
 UP BOUND held(0_1_1) 2
 LO BOUND held(0_1_2) 0
 UP BOUND held(0_1_2) 2
 LO BOUND held(0_1_3) 0
 UP BOUND held(0_1_3) 2
 LO BOUND held(0_1_4) 0
 UP BOUND held(0_1_4) 2
 LO BOUND held(0_1_5) 0
 UP BOUND held(0_1_5) 2
 LO BOUND held(0_2_0) 0
 UP BOUND held(0_2_0) 2
 LO BOUND held(0_2_1) 0
 UP BOUND held(0_2_1) 2
 LO BOUND held(0_2_2) 0
 UP BOUND held(0_2_2) 2
 LO BOUND held(0_2_3) 0
 UP BOUND held(0_2_3) 2
 LO BOUND held(0_2_4) 0
 UP BOUND held(0_2_4) 2
 LO BOUND held(0_2_5) 0
 UP BOUND held(0_2_5) 2
 LO BOUND held(1_0_0) 0
 UP BOUND held(1_0_0) 2
 LO BOUND held(1_0_1) 0
 UP BOUND held(1_0_1) 2
 LO BOUND held(1_0_2) 0
 UP BOUND held(1_0_2) 2
 LO BOUND held(1_0_3) 0
 UP BOUND held(1_0_3) 2
 LO BOUND held(1_0_4) 0
 UP BOUND held(1_0_4) 2
 LO BOUND held(1_0_5) 0
 UP BOUND held(1_0_5) 2
 LO BOUND held(1_1_0) 0
 UP BOUND held(1_1_0) 2
 LO BOUND held(1_1_1) 0
 UP BOUND held(1_1_1) 2
 LO BOUND held(1_1_2) 0
 UP BOUND held(1_1_2) 2
 LO BOUND held(1_1_3) 0
 UP BOUND held(1_1_3) 2
 LO BOUND held(1_1_4) 0
 UP BOUND held(1_1_4) 2
 LO BOUND held(1_1_5) 0
 UP BOUND held(1_1_5) 2
 LO BOUND held(1_2_0) 0
 UP BOUND held(1_2_0) 2
 LO BOUND held(1_2_1) 0
 UP BOUND held(1_2_1) 2
 LO BOUND held(1_2_2) 0
 UP BOUND held(1_2_2) 2
 LO BOUND held(1_2_3) 0
 UP BOUND held(1_2_3) 2
 LO BOUND held(1_2_4) 0
 UP BOUND held(1_2_4) 2
 LO BOUND held(1_2_5) 0
 UP BOUND held(1_2_5) 2
 LO BOUND on_link(0_0_0) 0
 UP BOUND on_link(0_0_0) 1
 LO BOUND on_link(0_0_1) 0
 UP BOUND on_link(0_0_1) 1
 LO BOUND on_link(0_0_2) 0
 UP BOUND on_link(0_0_2) 1
 LO BOUND on_link(0_0_3) 0
 UP BOUND on_link(0_0_3) 1
 LO BOUND on_link(0_0_4) 0
 UP BOUND on_link(0_0_4) 1
 LO BOUND on_link(0_0_5) 0
 UP BOUND on_link(0_0_5) 1
 LO BOUND on_link(0_1_0) 0
 UP BOUND on_link(0_1_0) 1
 LO BOUND on_link(0_1_1) 0
 UP BOUND on_link(0_1_1) 1
 LO BOUND on_link(0_1_2) 0
 UP BOUND on_link(0_1_2) 1
 LO BOUND on_link(0_1_3) 0
 UP BOUND on_link(0_1_3) 1
 LO BOUND on_link(0_1_4) 0
 UP BOUND on_link(0_1_4) 1
 LO BOUND on_link(0_1_5) 0
 UP BOUND on_link(0_1_5) 1
 LO BOUND on_link(0_2_0) 0
 UP BOUND on_link(0_2_0) 1
 LO BOUND on_link(0_2_1) 0
 UP BOUND on_link(0_2_1) 1
 LO BOUND on_link(0_2_2) 0
 UP BOUND on_link(0_2_2) 1
 LO BOUND on_link(0_2_3) 0
 UP BOUND on_link(0_2_3) 1
 LO BOUND on_link(0_2_4) 0
 UP BOUND on_link(0_2_4) 1
 LO BOUND on_link(0_2_5) 0
 UP BOUND on_link(0_2_5) 1
 LO BOUND on_link(1_0_0) 0
 UP BOUND on_link(1_0_0) 1
 LO BOUND on_link(1_0_1) 0
 UP BOUND on_link(1_0_1) 1
 LO BOUND on_link(1_0_2) 0
 UP BOUND on_link(1_0_2) 1
 LO BOUND on_link(1_0_3) 0
 UP BOUND on_link(1_0_3) 1
 LO BOUND on_link(1_0_4) 0
 UP BOUND on_link(1_0_4) 1
 LO BOUND on_link(1_0_5) 0
 UP BOUND on_link(1_0_5) 1
 LO BOUND on_link(1_1_0) 0
 UP BOUND on_link(1_1_0) 1
 LO BOUND on_link(1_1_1) 0
 UP BOUND on_link(1_1_1) 1
 LO BOUND on_link(1_1_2) 0
 UP BOUND on_link(1_1_2) 1
 LO BOUND on_link(1_1_3) 0
 UP BOUND on_link(1_1_3) 1
 LO BOUND on_link(1_1_4) 0
 UP BOUND on_link(1_1_4) 1
 LO BOUND on_link(1_1_5) 0
 UP BOUND on_link(1_1_5) 1
 LO BOUND on_link(1_2_0) 0
 UP BOUND on_link(1_2_0) 1
 LO BOUND on_link(1_2_1) 0
 UP BOUND on_link(1_2_1) 1
 LO BOUND on_link(1_2_2) 0
 UP BOUND on_link(1_2_2) 1
 LO BOUND on_link(1_2_3) 0
 UP BOUND on_link(1_2_3) 1
 LO BOUND on_link(1_2_4) 0
 UP BOUND on_link(1_2_4) 1
 LO BOUND on_link(1_2_5) 0
 UP BOUND on_link(1_2_5) 1
 BV BOUND level(0_2_0_1)
 BV BOUND level(0_2_0_2)
 BV BOUND level(0_2_1_1)
 BV BOUND level(0_2_1_2)
 BV BOUND level(0_2_2_1)
 BV BOUND level(0_2_2_2)
 BV BOUND level(0_2_3_1)
 BV BOUND level(0_2_3_2)
 BV BOUND level(0_2_4_1)
 BV BOUND level(0_2_4_2)
 BV BOUND level(0_2_5_1)
 BV BOUND level(0_2_5_2)
 BV BOUND level(0_3_0_1)
 BV BOUND level(0_3_0_2)
 BV BOUND level(0_3_1_1)
 BV BOUND level(0_3_1_2)
 BV BOUND level(0_3_2_1)
 BV BOUND level(0_3_2_2)
 BV BOUND level(0_3_3_1)
 BV BOUND level(0_3_3_2)
 BV BOUND level(0_3_4_1)
 BV BOUND level(0_3_4_2)
 BV BOUND level(0_3_5_1)
 BV BOUND level(0_3_5_2)
 BV BOUND level(1_2_0_1)
 BV BOUND level(1_2_0_2)
 BV BOUND level(1_2_1_1)
 BV BOUND level(1_2_1_2)
 BV BOUND level(1_2_2_1)
 BV BOUND level(1_2_2_2)
 BV BOUND level(1_2_3_1)
 BV BOUND level(1_2_3_2)
 BV BOUND level(1_2_4_1)
 BV BOUND level(1_2_4_2)
 BV BOUND level(1_2_5_1)
 BV BOUND level(1_2_5_2)
 BV BOUND level(1_3_0_1)
 BV BOUND level(1_3_0_2)
 BV BOUND level(1_3_1_1)
 BV BOUND level(1_3_1_2)
 BV BOUND level(1_3_2_1)
 BV BOUND level(1_3_2_2)
 BV BOUND level(1_3_3_1)
 BV BOUND level(1_3_3_2)
 BV BOUND level(1_3_4_1)
 BV BOUND level(1_3_4_2)
 BV BOUND level(1_3_5_1)
 BV BOUND level(1_3_5_2)
ENDATA
