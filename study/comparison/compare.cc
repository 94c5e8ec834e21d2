#include "study/comparison/compare.h"

#include <utility>

#include "study/comparison/split_search.h"

namespace dfsim::inline study {

StatusOr<ComparedProblem> compare(const CompareRequest& request, const PolicyRegistry& registry,
                                  const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + request.graph));
  if (!request.split.empty()) {
    return compare_splits(request, registry, progress);
  }
  DFSIM_ASSIGN_OR_RETURN(LoadedProblem loaded,
                         load_instance(request.graph, request.model, request.machine));
  return compare_loaded(request, registry, std::move(loaded.problem), loaded.unknown, progress);
}

}  // namespace dfsim::inline study
