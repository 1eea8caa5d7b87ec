* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME selection-patterns
OBJSENSE
 MIN
ROWS
 N  cost
 E  c_e_job_once(0)_
 E  c_e_job_once(1)_
 E  c_e_job_once(2)_
 L  c_u_class_size(0)_
 L  c_u_class_size(1)_
 E  c_e_shared_gpus(0)_
 E  c_e_leading_fractions(0_2)_
 E  c_e_one_leader(0_0_1)_
 E  c_e_one_leader(0_0_2)_
 E  c_e_one_leader(0_1_2)_
 E  c_e_one_leader(0_2_1)_
 E  c_e_one_leader(0_2_2)_
 E  c_e_one_leader(1_0_1)_
 L  c_u_dedicated_slots(0_0)_
 L  c_u_dedicated_slots(0_1)_
 L  c_u_dedicated_slots(1_0)_
 L  c_u_shared_slots(0_2)_
COLUMNS
     nodes(0_1_0__1__0) c_u_class_size(0)_ 1
     nodes(0_1_0__1__0) c_e_one_leader(0_0_1)_ -1
     nodes(0_1_1___2) c_u_class_size(0)_ 1
     nodes(0_1_1___2) c_e_shared_gpus(0)_ -1
     nodes(0_1_1___2) c_e_leading_fractions(0_2)_ -1
     nodes(0_1_1___2) c_e_one_leader(0_2_1)_ -1
     nodes(0_2_0_1_1_0) c_u_class_size(0)_ 1
     nodes(0_2_0_1_1_0) c_e_one_leader(0_0_2)_ -1
     nodes(0_2_0_1_1_0) c_u_dedicated_slots(0_0)_ -1
     nodes(0_2_0__2__1) c_u_class_size(0)_ 1
     nodes(0_2_0__2__1) c_e_one_leader(0_1_2)_ -1
     nodes(0_2_1__1__0) c_u_class_size(0)_ 1
     nodes(0_2_1__1__0) c_e_shared_gpus(0)_ -1
     nodes(0_2_1__1__0) c_e_one_leader(0_0_2)_ -1
     nodes(0_2_1__1__2) c_u_class_size(0)_ 1
     nodes(0_2_1__1__2) c_e_shared_gpus(0)_ -1
     nodes(0_2_1__1__2) c_e_leading_fractions(0_2)_ -1
     nodes(0_2_1__1__2) c_e_one_leader(0_2_2)_ -1
     nodes(0_2_1__1__2) c_u_dedicated_slots(0_0)_ -1
     nodes(0_2_2___2) c_u_class_size(0)_ 1
     nodes(0_2_2___2) c_e_shared_gpus(0)_ -2
     nodes(0_2_2___2) c_e_leading_fractions(0_2)_ -1
     nodes(0_2_2___2) c_e_one_leader(0_2_2)_ -1
     nodes(1_1_0__1__0) c_u_class_size(1)_ 1
     nodes(1_1_0__1__0) c_e_one_leader(1_0_1)_ -1
     filled(0__2___1) c_e_shared_gpus(0)_ 1
     filled(0__2___1) c_u_shared_slots(0_2)_ -2
     filled(0__2__2) c_e_shared_gpus(0)_ 1
     filled(0__2__2) c_e_leading_fractions(0_2)_ 1
     filled(0__2__2) c_u_shared_slots(0_2)_ -1
     postponed(0) cost 1.5706806282722514
     postponed(0) c_e_job_once(0)_ 1
     postponed(1) cost 0.52356020942408377
     postponed(1) c_e_job_once(1)_ 1
     postponed(2) cost 0.90575916230366493
     postponed(2) c_e_job_once(2)_ 1
     follower(0_0_0) c_e_job_once(0)_ 1
     follower(0_0_0) c_u_dedicated_slots(0_0)_ 1
     follower(0_0_1) c_e_job_once(0)_ 1
     follower(0_0_1) c_u_dedicated_slots(0_1)_ 1
     follower(0_0_2) cost 0.026178010471204188
     follower(0_0_2) c_e_job_once(0)_ 1
     follower(0_0_2) c_u_shared_slots(0_2)_ 1
     follower(0_1_0) cost 0.026178010471204188
     follower(0_1_0) c_e_job_once(0)_ 1
     follower(0_1_0) c_u_dedicated_slots(1_0)_ 1
     follower(1_0_0) c_e_job_once(1)_ 1
     follower(1_0_0) c_u_dedicated_slots(0_0)_ 1
     follower(1_0_1) c_e_job_once(1)_ 1
     follower(1_0_1) c_u_dedicated_slots(0_1)_ 1
     follower(1_0_2) c_e_job_once(1)_ 1
     follower(1_0_2) c_u_shared_slots(0_2)_ 1
     follower(1_1_0) c_e_job_once(1)_ 1
     follower(1_1_0) c_u_dedicated_slots(1_0)_ 1
     follower(2_0_0) cost 0.036649214659685861
     follower(2_0_0) c_e_job_once(2)_ 1
     follower(2_0_0) c_u_dedicated_slots(0_0)_ 1
     follower(2_0_1) cost 0.031413612565445025
     follower(2_0_1) c_e_job_once(2)_ 1
     follower(2_0_1) c_u_dedicated_slots(0_1)_ 1
     leader(0_0_0_1) cost 0.15706806282722513
     leader(0_0_0_1) c_e_job_once(0)_ 1
     leader(0_0_0_1) c_e_one_leader(0_0_1)_ 1
     leader(0_0_0_2) cost 0.31413612565445026
     leader(0_0_0_2) c_e_job_once(0)_ 1
     leader(0_0_0_2) c_e_one_leader(0_0_2)_ 1
     leader(0_0_1_2) cost 0.18848167539267016
     leader(0_0_1_2) c_e_job_once(0)_ 1
     leader(0_0_1_2) c_e_one_leader(0_1_2)_ 1
     leader(0_0_2_1) cost 0.22251308900523561
     leader(0_0_2_1) c_e_job_once(0)_ 1
     leader(0_0_2_1) c_e_one_leader(0_2_1)_ 1
     leader(0_0_2_2) cost 0.41884816753926701
     leader(0_0_2_2) c_e_job_once(0)_ 1
     leader(0_0_2_2) c_e_one_leader(0_2_2)_ 1
     leader(0_1_0_1) cost 0.61518324607329844
     leader(0_1_0_1) c_e_job_once(0)_ 1
     leader(0_1_0_1) c_e_one_leader(1_0_1)_ 1
     leader(1_0_0_1) cost 0.1256544502617801
     leader(1_0_0_1) c_e_job_once(1)_ 1
     leader(1_0_0_1) c_e_one_leader(0_0_1)_ 1
     leader(1_0_0_2) cost 0.2513089005235602
     leader(1_0_0_2) c_e_job_once(1)_ 1
     leader(1_0_0_2) c_e_one_leader(0_0_2)_ 1
     leader(1_0_1_2) cost 0.16753926701570682
     leader(1_0_1_2) c_e_job_once(1)_ 1
     leader(1_0_1_2) c_e_one_leader(0_1_2)_ 1
     leader(1_0_2_1) cost 0.15706806282722513
     leader(1_0_2_1) c_e_job_once(1)_ 1
     leader(1_0_2_1) c_e_one_leader(0_2_1)_ 1
     leader(1_0_2_2) cost 0.31413612565445026
     leader(1_0_2_2) c_e_job_once(1)_ 1
     leader(1_0_2_2) c_e_one_leader(0_2_2)_ 1
     leader(1_1_0_1) cost 0.37696335078534027
     leader(1_1_0_1) c_e_job_once(1)_ 1
     leader(1_1_0_1) c_e_one_leader(1_0_1)_ 1
     leader(2_0_0_1) cost 0.078534031413612565
     leader(2_0_0_1) c_e_job_once(2)_ 1
     leader(2_0_0_1) c_e_one_leader(0_0_1)_ 1
     leader(2_0_0_2) cost 0.12041884816753927
     leader(2_0_0_2) c_e_job_once(2)_ 1
     leader(2_0_0_2) c_e_one_leader(0_0_2)_ 1
     leader(2_0_1_2) cost 0.094240837696335067
     leader(2_0_1_2) c_e_job_once(2)_ 1
     leader(2_0_1_2) c_e_one_leader(0_1_2)_ 1
RHS
     RHS c_e_job_once(0)_ 1
     RHS c_e_job_once(1)_ 1
     RHS c_e_job_once(2)_ 1
     RHS c_u_class_size(0)_ 1
     RHS c_u_class_size(1)_ 1
     RHS c_e_shared_gpus(0)_ 0
     RHS c_e_leading_fractions(0_2)_ 0
     RHS c_e_one_leader(0_0_1)_ 0
     RHS c_e_one_leader(0_0_2)_ 0
     RHS c_e_one_leader(0_1_2)_ 0
     RHS c_e_one_leader(0_2_1)_ 0
     RHS c_e_one_leader(0_2_2)_ 0
     RHS c_e_one_leader(1_0_1)_ 0
     RHS c_u_dedicated_slots(0_0)_ 0
     RHS c_u_dedicated_slots(0_1)_ 0
     RHS c_u_dedicated_slots(1_0)_ 0
     RHS c_u_shared_slots(0_2)_ 0
BOUNDS
 LI BOUND nodes(0_1_0__1__0) 0
 UI BOUND nodes(0_1_0__1__0) 10E20
 LI BOUND nodes(0_1_1___2) 0
 UI BOUND nodes(0_1_1___2) 10E20
 LI BOUND nodes(0_2_0_1_1_0) 0
 UI BOUND nodes(0_2_0_1_1_0) 10E20
 LI BOUND nodes(0_2_0__2__1) 0
 UI BOUND nodes(0_2_0__2__1) 10E20
 LI BOUND nodes(0_2_1__1__0) 0
 UI BOUND nodes(0_2_1__1__0) 10E20
 LI BOUND nodes(0_2_1__1__2) 0
 UI BOUND nodes(0_2_1__1__2) 10E20
 LI BOUND nodes(0_2_2___2) 0
 UI BOUND nodes(0_2_2___2) 10E20
 LI BOUND nodes(1_1_0__1__0) 0
 UI BOUND nodes(1_1_0__1__0) 10E20
 LI BOUND filled(0__2___1) 0
 UI BOUND filled(0__2___1) 10E20
 LI BOUND filled(0__2__2) 0
 UI BOUND filled(0__2__2) 10E20
 BV BOUND postponed(0)
 BV BOUND postponed(1)
 BV BOUND postponed(2)
 BV BOUND follower(0_0_0)
 BV BOUND follower(0_0_1)
 BV BOUND follower(0_0_2)
 BV BOUND follower(0_1_0)
 BV BOUND follower(1_0_0)
 BV BOUND follower(1_0_1)
 BV BOUND follower(1_0_2)
 BV BOUND follower(1_1_0)
 BV BOUND follower(2_0_0)
 BV BOUND follower(2_0_1)
 BV BOUND leader(0_0_0_1)
 BV BOUND leader(0_0_0_2)
 BV BOUND leader(0_0_1_2)
 BV BOUND leader(0_0_2_1)
 BV BOUND leader(0_0_2_2)
 BV BOUND leader(0_1_0_1)
 BV BOUND leader(1_0_0_1)
 BV BOUND leader(1_0_0_2)
 BV BOUND leader(1_0_1_2)
 BV BOUND leader(1_0_2_1)
 BV BOUND leader(1_0_2_2)
 BV BOUND leader(1_1_0_1)
 BV BOUND leader(2_0_0_1)
 BV BOUND leader(2_0_0_2)
 BV BOUND leader(2_0_1_2)
ENDATA
