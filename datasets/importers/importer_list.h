// The factories of all importers; importer.cc lists them. One per *_reader.cc.
#pragma once

#include <memory>

#include "datasets/importers/importer.h"

namespace dfsim::inline datasets {

std::unique_ptr<Importer> make_aiconfigurator_importer();
std::unique_ptr<Importer> make_dfsim_importer();
std::unique_ptr<Importer> make_kineto_importer();
std::unique_ptr<Importer> make_mindspore_importer();
std::unique_ptr<Importer> make_neusight_importer();
std::unique_ptr<Importer> make_ort_importer();
std::unique_ptr<Importer> make_tinynas_importer();
std::unique_ptr<Importer> make_vidur_importer();

}  // namespace dfsim::inline datasets
