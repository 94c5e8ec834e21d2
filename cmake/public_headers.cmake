# The public headers of dfsim: what programs that use the installed libraries may include. Everything
# else is internal and is not installed. scripts/check_public_headers.py (test `public_headers`)
# checks that the list is closed: a public header includes public headers alone.
# The first part of each group is what users call; `# seen through them:` is what their types need.
set(DFSIM_PUBLIC_HEADERS
  # study: the use cases, options in and results out.
  study/progress.h
  study/prediction/predict.h
  study/comparison/compare.h
  study/comparison/compare_problem.h
  study/comparison/comparison.h
  study/comparison/noise_options.h
  study/inspection/inspect.h
  study/inspection/known_ops.h
  study/machines/machines.h
  study/profiles/profiles.h
  study/sweep/sweep.h
  study/sweep/sweep_file.h
  study/sweep/sweep_report.h
  study/recorded/analyze.h
  study/recorded/replay.h
  study/roofline/study_roofline.h
  study/tuning/tune.h
  study/partitioning/partition.h
  study/validation/validate.h
  study/roofline/roofline_source.h
  study/replay/replay_report.h
  study/analysis/trace_analysis.h
  study/chain/machine_source.h
  study/chain/problem_source.h
  # seen through them:
  study/analysis/advice_list.h
  study/analysis/critical_path.h
  study/analysis/trace_figures.h
  study/chain/execution.h
  study/chain/latency_interval.h
  study/chain/model_run.h
  study/chain/model_source.h
  study/chain/policy_run.h
  study/chain/run_recorder.h
  study/chain/training_choice.h
  study/chain/unknown_work.h
  study/partitioning/partitioning.h
  study/prediction/copy_log.h
  study/prediction/dispatch_log.h
  study/prediction/memory_log.h
  study/prediction/predict_options.h
  study/prediction/prediction.h
  study/prediction/verdict.h
  study/sweep/index_iterator.h
  study/sweep/sweep_options.h
  study/sweep/sweep_plan.h
  study/sweep/sweep_row.h
  study/sweep/sweep_rows.h
  study/replay/replay.h
  study/replay/replay_graph.h
  study/replay/replay_hardware.h
  study/roofline/roofline.h
  study/roofline/roofline_inputs.h
  study/roofline/sweep_axis.h
  study/roofline/trajectory.h
  study/validation/validation.h
  study/analysis/trace_diff.h
  study/tuning/tune_lines.h
  study/tuning/tune_search.h

  # sim: the simulator, and listeners to what happens in it.
  sim/simulator.h
  sim/listener.h
  sim/requests.h
  sim/repeat.h
  # seen through them:
  sim/forwarding_listener.h
  sim/request_types.h
  sim/simulation.h

  # schedulers: policies that place tasks, one's own among them.
  schedulers/scheduler.h
  schedulers/registry.h
  schedulers/plugin.h
  schedulers/problem_instance.h
  schedulers/comm_model.h
  schedulers/planning/task_view.h
  schedulers/planning/plan_builder.h
  # seen through them:
  schedulers/planning/gap_list.h
  schedulers/planning/task_inputs.h
  schedulers/policy_options.h

  # opmodel: times of operators.
  opmodel/cost_model.h
  opmodel/workload.h
  opmodel/sol.h
  opmodel/model/model_loader.h
  # seen through them:
  opmodel/node_lowering.h

  # partition: plans that a partitioning names.
  partition/pipeline/pipeline_schedule.h
  partition/plans/plan_file.h
  partition/plans/plan_spec.h
  partition/plans/uneven_split.h
  partition/sharding/device_mesh.h
  partition/sharding/propagate.h
  partition/sharding/shard_graph.h
  partition/sharding/sharding.h
  partition/sharding/spmd_program.h

  # datasets: readers of measurements and traces.
  datasets/profiles/profile.h
  datasets/profiles/profile_io.h
  datasets/importers/importer.h
  datasets/traces/trace.h
  datasets/traces/trace_reader.h
  datasets/traces/trace_window.h
  # seen through them:
  datasets/profiles/profile_stats.h

  # graphs: models and task graphs, read from files or built in code.
  graphs/ir/graph.h
  graphs/ir/graph_builder.h
  graphs/ir/exec_graph.h
  graphs/ir/import.h
  graphs/ops/infer.h
  graphs/onnx/importer.h
  graphs/tensorflow/importer.h
  graphs/taskgraph/task_graph.h
  graphs/taskgraph/generate.h
  graphs/taskgraph/daggen_options.h
  graphs/taskgraph/triplet_cluster.h
  # seen through them:
  graphs/ir/attributes.h
  graphs/ir/op_class.h
  graphs/ir/shape.h
  graphs/ops/totals.h
  graphs/ops/work.h
  graphs/ops/factors/factor_map.h
  graphs/passes/origins.h
  graphs/passes/precision/precision.h
  graphs/passes/precision/precisions.inc
  graphs/tensorflow/format.h
  graphs/training/training_graph.h
  graphs/training/training_names.h
  graphs/training/training_parts.h
  graphs/algorithms/symbol_study.h

  # hardware: machines.
  hardware/platform.h
  hardware/platform_loader.h
  hardware/route.h
  # seen through them:
  hardware/collective_timing.h
  hardware/memory_levels.h

  # base: errors, units and ids.
  base/status.h
  base/cancellation.h
  base/units.h
  base/ids.h
  base/dtype.h
  base/io/data_dir.h
  # seen through them:
  base/check.h
)
