#include "schedulers/registry.h"

#include <algorithm>

#include "base/text.h"
#include "schedulers/ideal_run.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers {
namespace {

constexpr const char* kTopcuoglu = "Topcuoglu, Hariri, Wu 2002, doi:10.1109/71.993206";
constexpr const char* kLin = "Lin, Li, Jia, Liu, An 2019, doi:10.1007/s11390-019-1962-4";
constexpr const char* kBaechi = "Jeon et al. 2020 (Baechi), doi:10.1145/3419111.3421302";

PolicyInfo offline(const char* name, const char* summary, const char* citation,
                   decltype(PolicyInfo::make_static) make, size_t task_limit = 0) {
  return {name, summary, citation, make, nullptr, task_limit};
}

PolicyInfo online(const char* name, const char* summary, const char* citation,
                  decltype(PolicyInfo::make_online) make) {
  return {name, summary, citation, nullptr, make, 0};
}

std::vector<std::string> names_of(const std::vector<PolicyInfo>& policies) {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : policies) {
    names.push_back(policy.name);
  }
  return names;
}

}  // namespace

const std::vector<PolicyInfo>& builtin_policies() {
  using namespace policies;
  static const std::vector<PolicyInfo> kPolicies = {
      online("adon", "weighted out-degree, recursive, as tasks become ready", kLin, make_adon),
      offline("anneal", "simulated annealing over placement and order",
              "Kirkpatrick, Gelatt, Vecchi 1983, doi:10.1126/science.220.4598.671", make_anneal,
              20'000),
      offline("best-single-device", "everything on the fastest device", "",
              make_best_single_device),
      offline("cpop", "critical path on one processor", kTopcuoglu, make_cpop),
      online("critical-path", "largest upward rank first, whenever a device is idle", "",
             make_critical_path),
      offline("dls", "largest dynamic level of task and device",
              "Sih, Lee 1993, doi:10.1109/71.207593", make_dls),
      online("donf", "weighted out-degree first, as tasks become ready", kLin, make_donf),
      online("donf2", "weighted out-degree of two generations", kLin, make_donf2),
      offline("donfl", "weighted out-degree, aware of links, into gaps", kLin, make_donfl),
      online("donfm", "weighted out-degree, frees nearly full memories first", kLin, make_donfm),
      offline("etf", "earliest starting task first",
              "Hwang, Chow, Anger, Lee 1989, doi:10.1137/0218016", make_etf),
      online("fcfs", "first come, first served, whenever a device is idle", "", make_fcfs),
      offline("first-device", "everything on the platform's first device, as frameworks do", "",
              make_first_device),
      offline("heft", "upward rank, earliest finish, into gaps", kTopcuoglu, make_heft),
      offline("hlfet", "static level, earliest finish",
              "Adam, Chandy, Dickson 1974, doi:10.1145/361604.361619", make_hlfet),
      offline("hsv", "heterogeneous selection value", "Xie, Li, Li 2015", make_hsv),
      offline("ippts", "predict cost matrix times successors, priorities mended",
              "Djigal, Feng, Lu, Ge 2021, doi:10.1109/TPDS.2020.3041829", make_ippts),
      offline("lookahead", "HEFT that looks at the children's finish",
              "Bittencourt, Sakellariou, Madeira 2010, doi:10.1109/PDP.2010.56", make_lookahead),
      offline("m-etf", "ETF under memory limits", kBaechi, make_m_etf),
      offline("m-sct", "small communication times under memory limits", kBaechi, make_m_sct, 3'000),
      offline("m-topo", "devices filled in topological order", kBaechi, make_m_topo),
      offline("maxmin", "largest least completion first",
              "Ibarra, Kim 1977, doi:10.1145/322003.322011", make_maxmin, 20'000),
      online("mct", "minimum completion time, as tasks become ready",
             "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581", make_mct),
      offline("minmin", "least completion first", "Ibarra, Kim 1977, doi:10.1145/322003.322011",
              make_minmin),
      offline("optimal", "branch and bound, up to 12 tasks", "", make_optimal, 12),
      offline("peft", "optimistic cost table", "Arabnejad, Barbosa 2014, doi:10.1109/TPDS.2013.57",
              make_peft),
      offline("portfolio", "best of several policies", "", make_portfolio, 200'000),
      offline("ppts", "predict cost matrix", "Djigal, Feng, Lu 2019, doi:10.1145/3339186.3339206",
              make_ppts),
      online("round-robin", "devices in turn", "", make_round_robin),
      online("sjf", "shortest job first, whenever a device is idle", "", make_sjf),
      offline("sufferage", "largest loss without the best device first",
              "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581", make_sufferage, 20'000),
      online("work-stealing", "deques per device, idle devices steal",
             "Blumofe, Leiserson 1999, doi:10.1145/324133.324234", make_work_stealing),
  };
  return kPolicies;
}

StatusOr<const PolicyInfo*> PolicyRegistry::find(std::string_view name) const {
  const auto found = std::ranges::find(policies_, name, &PolicyInfo::name);
  if (found == policies_.end()) {
    return invalid_input(unknown_name_message("policy", name, names_of(policies_)));
  }
  return &*found;
}

StatusOr<std::vector<const PolicyInfo*>> PolicyRegistry::select(std::string_view list,
                                                                size_t tasks) const {
  std::vector<const PolicyInfo*> selected;
  if (list == "all") {
    for (const PolicyInfo& policy : policies_) {
      if (policy.task_limit == 0 || tasks <= policy.task_limit) {
        selected.push_back(&policy);
      }
    }
    return selected;
  }
  for (const std::string& name : split(list, ',')) {
    DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, find(name));
    if (std::ranges::find(selected, policy) == selected.end()) {
      selected.push_back(policy);
    }
  }
  return selected;
}

Status PolicyRegistry::add(PolicyInfo policy) {
  if (policy.name.empty() || policy.name == "all" ||
      (policy.make_static == nullptr) == (policy.make_online == nullptr)) {
    return invalid_input("a policy needs a name other than 'all' and exactly one way to make it");
  }
  if (std::ranges::find(policies_, policy.name, &PolicyInfo::name) != policies_.end()) {
    return invalid_input("there is already a policy '" + printable(policy.name) + "'");
  }
  policies_.push_back(std::move(policy));
  return ok_status();
}

StatusOr<Schedule> plan_with(const PolicyInfo& policy, const SchedulingProblem& problem,
                             const PolicyOptions& options) {
  if (policy.online()) {
    return ideal_run(problem, *policy.make_online(options));
  }
  return policy.make_static(options)->plan(problem);
}

}  // namespace dfsim::inline schedulers
