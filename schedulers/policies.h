// Factories of the built-in policies, one per file; registry.cc lists them.
#pragma once

#include <memory>

#include "schedulers/registry.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers::policies {

using StaticPtr = std::unique_ptr<StaticScheduler>;
using OnlinePtr = std::unique_ptr<OnlineScheduler>;

StaticPtr make_anneal(const PolicyOptions& options);
StaticPtr make_best_single_device(const PolicyOptions& options);
StaticPtr make_first_device(const PolicyOptions& options);
StaticPtr make_cpop(const PolicyOptions& options);
StaticPtr make_dls(const PolicyOptions& options);
StaticPtr make_donfl(const PolicyOptions& options);
StaticPtr make_etf(const PolicyOptions& options);
StaticPtr make_heft(const PolicyOptions& options);
StaticPtr make_hlfet(const PolicyOptions& options);
StaticPtr make_hsv(const PolicyOptions& options);
StaticPtr make_ippts(const PolicyOptions& options);
StaticPtr make_lookahead(const PolicyOptions& options);
StaticPtr make_m_etf(const PolicyOptions& options);
StaticPtr make_m_sct(const PolicyOptions& options);
StaticPtr make_m_topo(const PolicyOptions& options);
StaticPtr make_maxmin(const PolicyOptions& options);
StaticPtr make_minmin(const PolicyOptions& options);
StaticPtr make_optimal(const PolicyOptions& options);
StaticPtr make_peft(const PolicyOptions& options);
StaticPtr make_portfolio(const PolicyOptions& options);
StaticPtr make_ppts(const PolicyOptions& options);
StaticPtr make_sufferage(const PolicyOptions& options);

OnlinePtr make_adon(const PolicyOptions& options);
OnlinePtr make_critical_path(const PolicyOptions& options);
OnlinePtr make_donf(const PolicyOptions& options);
OnlinePtr make_donf2(const PolicyOptions& options);
OnlinePtr make_donfm(const PolicyOptions& options);
OnlinePtr make_fcfs(const PolicyOptions& options);
OnlinePtr make_mct(const PolicyOptions& options);
OnlinePtr make_round_robin(const PolicyOptions& options);
OnlinePtr make_sjf(const PolicyOptions& options);
OnlinePtr make_work_stealing(const PolicyOptions& options);

}  // namespace dfsim::inline schedulers::policies
