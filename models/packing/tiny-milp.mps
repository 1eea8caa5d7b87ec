* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME packing-milp
OBJSENSE
 MIN
ROWS
 N  idle
 L  c_u_cpu_capacity(0)_
 L  c_u_cpu_capacity(1)_
 L  c_u_memory_capacity(0)_
 L  c_u_memory_capacity(1)_
 L  c_u_gpu_capacity(0_0)_
 L  c_u_gpu_capacity(0_1)_
 L  c_u_gpu_capacity(1_0)_
 E  c_e_share_is_on_a_gpu(1_0)_
 E  c_e_share_is_on_a_gpu(1_1)_
 E  c_e_share_is_on_a_gpu(2_0)_
 E  c_e_share_is_on_a_gpu(2_1)_
 E  c_e_share_is_on_a_gpu(3_0)_
 E  c_e_whole_gpus_are_taken(0)_
 E  c_e_whole_gpus_are_taken(1)_
 L  c_u_demand(0)_
 L  c_u_demand(1)_
 L  c_u_demand(2)_
 L  c_u_demand(3)_
 E  c_e_ONE_VAR_CONSTANT
COLUMNS
     placed(0_0) idle -2
     placed(0_0) c_u_cpu_capacity(0)_ 6
     placed(0_0) c_u_memory_capacity(0)_ 4
     placed(0_0) c_e_whole_gpus_are_taken(0)_ 2
     placed(0_0) c_u_demand(0)_ 1
     placed(1_0) idle -0.69999999999999996
     placed(1_0) c_u_cpu_capacity(0)_ 2
     placed(1_0) c_u_memory_capacity(0)_ 1
     placed(1_0) c_e_share_is_on_a_gpu(1_0)_ 1
     placed(1_0) c_u_demand(1)_ 1
     placed(1_1) idle -0.69999999999999996
     placed(1_1) c_u_cpu_capacity(1)_ 2
     placed(1_1) c_u_memory_capacity(1)_ 1
     placed(1_1) c_e_share_is_on_a_gpu(1_1)_ 1
     placed(1_1) c_u_demand(1)_ 1
     placed(2_0) idle -0.5
     placed(2_0) c_u_cpu_capacity(0)_ 3
     placed(2_0) c_u_memory_capacity(0)_ 1
     placed(2_0) c_e_share_is_on_a_gpu(2_0)_ 1
     placed(2_0) c_u_demand(2)_ 1
     placed(2_1) idle -0.5
     placed(2_1) c_u_cpu_capacity(1)_ 3
     placed(2_1) c_u_memory_capacity(1)_ 1
     placed(2_1) c_e_share_is_on_a_gpu(2_1)_ 1
     placed(2_1) c_u_demand(2)_ 1
     placed(3_0) idle -0.29999999999999999
     placed(3_0) c_u_cpu_capacity(0)_ 1
     placed(3_0) c_u_memory_capacity(0)_ 1
     placed(3_0) c_e_share_is_on_a_gpu(3_0)_ 1
     placed(3_0) c_u_demand(3)_ 1
     share(1_0_0) c_u_gpu_capacity(0_0)_ 700
     share(1_0_0) c_e_share_is_on_a_gpu(1_0)_ -1
     share(1_0_1) c_u_gpu_capacity(0_1)_ 700
     share(1_0_1) c_e_share_is_on_a_gpu(1_0)_ -1
     share(1_1_0) c_u_gpu_capacity(1_0)_ 700
     share(1_1_0) c_e_share_is_on_a_gpu(1_1)_ -1
     share(2_0_0) c_u_gpu_capacity(0_0)_ 500
     share(2_0_0) c_e_share_is_on_a_gpu(2_0)_ -1
     share(2_0_1) c_u_gpu_capacity(0_1)_ 500
     share(2_0_1) c_e_share_is_on_a_gpu(2_0)_ -1
     share(2_1_0) c_u_gpu_capacity(1_0)_ 500
     share(2_1_0) c_e_share_is_on_a_gpu(2_1)_ -1
     share(3_0_0) c_u_gpu_capacity(0_0)_ 300
     share(3_0_0) c_e_share_is_on_a_gpu(3_0)_ -1
     share(3_0_1) c_u_gpu_capacity(0_1)_ 300
     share(3_0_1) c_e_share_is_on_a_gpu(3_0)_ -1
     taken(0_0) c_u_gpu_capacity(0_0)_ 1000
     taken(0_0) c_e_whole_gpus_are_taken(0)_ -1
     taken(0_1) c_u_gpu_capacity(0_1)_ 1000
     taken(0_1) c_e_whole_gpus_are_taken(0)_ -1
     taken(1_0) c_u_gpu_capacity(1_0)_ 1000
     taken(1_0) c_e_whole_gpus_are_taken(1)_ 1
     ONE_VAR_CONSTANT idle 3
     ONE_VAR_CONSTANT c_e_ONE_VAR_CONSTANT 1
RHS
     RHS c_u_cpu_capacity(0)_ 8
     RHS c_u_cpu_capacity(1)_ 4
     RHS c_u_memory_capacity(0)_ 8
     RHS c_u_memory_capacity(1)_ 4
     RHS c_u_gpu_capacity(0_0)_ 1000
     RHS c_u_gpu_capacity(0_1)_ 1000
     RHS c_u_gpu_capacity(1_0)_ 1000
     RHS c_e_share_is_on_a_gpu(1_0)_ 0
     RHS c_e_share_is_on_a_gpu(1_1)_ 0
     RHS c_e_share_is_on_a_gpu(2_0)_ 0
     RHS c_e_share_is_on_a_gpu(2_1)_ 0
     RHS c_e_share_is_on_a_gpu(3_0)_ 0
     RHS c_e_whole_gpus_are_taken(0)_ 0
     RHS c_e_whole_gpus_are_taken(1)_ 0
     RHS c_u_demand(0)_ 1
     RHS c_u_demand(1)_ 2
     RHS c_u_demand(2)_ 1
     RHS c_u_demand(3)_ 1
     RHS c_e_ONE_VAR_CONSTANT 1
BOUNDS
 LI BOUND placed(0_0) 0
 UI BOUND placed(0_0) 1
 LI BOUND placed(1_0) 0
 UI BOUND placed(1_0) 2
 LI BOUND placed(1_1) 0
 UI BOUND placed(1_1) 2
 LI BOUND placed(2_0) 0
 UI BOUND placed(2_0) 1
 LI BOUND placed(2_1) 0
 UI BOUND placed(2_1) 1
 LI BOUND placed(3_0) 0
 UI BOUND placed(3_0) 1
 LI BOUND share(1_0_0) 0
 UI BOUND share(1_0_0) 1
 LI BOUND share(1_0_1) 0
 UI BOUND share(1_0_1) 1
 LI BOUND share(1_1_0) 0
 UI BOUND share(1_1_0) 1
 LI BOUND share(2_0_0) 0
 UI BOUND share(2_0_0) 1
 LI BOUND share(2_0_1) 0
 UI BOUND share(2_0_1) 1
 LI BOUND share(2_1_0) 0
 UI BOUND share(2_1_0) 1
 LI BOUND share(3_0_0) 0
 UI BOUND share(3_0_0) 1
 LI BOUND share(3_0_1) 0
 UI BOUND share(3_0_1) 1
 BV BOUND taken(0_0)
 BV BOUND taken(0_1)
 BV BOUND taken(1_0)
ENDATA
