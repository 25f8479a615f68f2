#include "test/cuda/fake/fake_cudnn.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "test/cuda/fake/fake_descriptors.h"
#include "test/cuda/fake/fake_graph.h"

namespace mpc::test {
namespace {

using namespace cuda;

FakeCudnn* current = nullptr;
std::set<FakeDescriptor*> alive;
// As in the library, a descriptor that others refer to survives its
// destruction.
std::vector<std::unique_ptr<FakeDescriptor>> made_so_far;

cudnnStatus_t refuse(const std::string& why) {
  current->refusal = why;
  return CUDNN_STATUS_BAD_PARAM;
}

bool fails(const char* call) { return current->failing == call; }

size_t get_version() { return current->version; }

const char* get_error_string(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    default:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

void get_last_error(char* text, size_t bytes) {
  std::strncpy(text, current->refusal.c_str(), bytes - 1);
  text[bytes - 1] = 0;
}

cudnnStatus_t create(cudnnHandle_t* handle) {
  if (fails("cudnnCreate")) return CUDNN_STATUS_NOT_INITIALIZED;
  ++current->handles;
  *handle = reinterpret_cast<cudnnHandle_t>(current);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t destroy(cudnnHandle_t) {
  --current->handles;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_stream(cudnnHandle_t, CUstream stream) {
  if (fails("cudnnSetStream")) return CUDNN_STATUS_BAD_PARAM;
  current->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type,
                                cudnnBackendDescriptor_t* descriptor) {
  if (fails("cudnnBackendCreateDescriptor")) return CUDNN_STATUS_BAD_PARAM;
  ++current->descriptors;
  made_so_far.push_back(std::make_unique<FakeDescriptor>());
  FakeDescriptor* made = made_so_far.back().get();
  made->type = type;
  alive.insert(made);
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  FakeDescriptor* made = static_cast<FakeDescriptor*>(descriptor);
  if (alive.erase(made) == 0) return refuse("destroyed twice");
  --current->descriptors;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor,
                            cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t count,
                            const void* values) {
  if (fails("cudnnBackendSetAttribute")) return CUDNN_STATUS_BAD_PARAM;
  FakeDescriptor& made = *static_cast<FakeDescriptor*>(descriptor);
  const std::string which = "attribute " + std::to_string(name) +
                            " of descriptor " + std::to_string(made.type);
  if (made.finalized) return refuse(which + " is set too late");
  cudnnBackendAttributeType_t expected;
  int64_t expected_count;
  if (!attribute_of(made.type, name, &expected, &expected_count))
    return refuse(which + " is unknown");
  if (type != expected) return refuse(which + " has another type");
  if (expected_count != 0 && count != expected_count)
    return refuse(which + " has another count");
  const size_t bytes = static_cast<size_t>(count) * size_of(type);
  const unsigned char* from = static_cast<const unsigned char*>(values);
  made.attributes[name] = {count, {from, from + bytes}};
  return CUDNN_STATUS_SUCCESS;
}

bool forward_or_input(const FakeConv& conv) {
  return conv.kind !=
         CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

// The engines that support this graph, in the order of the proposals.
std::vector<size_t> proposals(const FakeDescriptor& heuristic) {
  const FakeDescriptor& of =
      *heuristic.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const bool fallback =
      heuristic.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) ==
      CUDNN_HEUR_MODE_FALLBACK;
  std::vector<size_t> known;
  const auto add = [&](const auto& knows) {
    for (size_t i = 0; i < current->engines.size(); ++i)
      if (current->engines[i].fallback == fallback &&
          knows(current->engines[i]))
        known.push_back(i);
  };
  if (has_product(of)) {
    add([](const FakeCudnn::Engine& engine) { return engine.attention; });
    return known;
  }
  const FakeConv conv = conv_of(of);
  if (!conv.operation) return known;
  bool narrow = false, wide = false;
  for (const FakeDescriptor* tensor : {conv.x, conv.w, conv.y}) {
    const bool is_f32 = tensor->one<cudnnDataType_t>(
                            CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT;
    (is_f32 ? wide : narrow) = true;
  }
  // Like the library: for 16-bit operands it computes an f32 result only as a
  // fused operation, and the gradient of weights only in channels-last layout.
  const bool mixes = narrow && wide;
  const auto dims = conv.w->all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const bool channels_last =
      dims[2] * dims[3] == 1 ||
      conv.w->all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)[1] == 1;
  if (mixes && (!conv.is_fused || !(channels_last || forward_or_input(conv))))
    return known;
  add([&](const FakeCudnn::Engine& engine) { return engine.mixed || !mixes; });
  return known;
}

std::string text_of_plan(const FakeDescriptor& plan);

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor,
                            cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, int64_t requested,
                            int64_t* found, void* values) {
  if (fails("cudnnBackendGetAttribute")) return CUDNN_STATUS_BAD_PARAM;
  FakeDescriptor& made = *static_cast<FakeDescriptor*>(descriptor);
  if (!made.finalized) return refuse("read before it is finalized");
  const FakeCudnn::Engine& engine = current->engines[made.engine];
  const auto answer = [&](const auto& value) {
    if (requested < 1) return refuse("no room");
    *found = 1;
    std::memcpy(values, &value, sizeof value);
    return CUDNN_STATUS_SUCCESS;
  };
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const std::vector<size_t> known = proposals(made);
      *found = static_cast<int64_t>(known.size());
      for (int64_t i = 0; i < *found && i < requested; ++i) {
        FakeDescriptor* config = static_cast<FakeDescriptor**>(values)[i];
        if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
          return refuse("results are engine configurations");
        config->engine = known[static_cast<size_t>(i)];
        config->finalized = true;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      FakeDescriptor* place = *static_cast<FakeDescriptor**>(values);
      if (place->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
        return refuse("the place must be an engine");
      place->engine = made.engine;
      place->finalized = true;
      *found = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return answer(static_cast<int64_t>(made.engine));
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *found = static_cast<int64_t>(engine.notes.size());
      std::copy(engine.notes.begin(), engine.notes.end(),
                static_cast<cudnnBackendNumericalNote_t*>(values));
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
      if (current->cannot_serialize_plans)
        return refuse("no plan is given out as text");
      const std::string text = text_of_plan(made);
      *found = static_cast<int64_t>(text.size());
      // Without memory only the size is requested.
      if (values)
        std::memcpy(values, text.data(),
                    static_cast<size_t>(std::min(*found, requested)));
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return answer(static_cast<int64_t>(engine.workspace_bytes));
    default:
      return refuse("attribute " + std::to_string(name) + " cannot be read");
  }
}

// Graphs of the plans that were returned as text.
std::vector<const FakeDescriptor*> written;

std::string text_of_plan(const FakeDescriptor& plan) {
  written.push_back(&plan);
  return "{\"version\":" + std::to_string(current->version) +
         ",\"engine\":" + std::to_string(plan.engine) +
         ",\"graph\":" + std::to_string(written.size() - 1) + "}";
}

// The plan that a text describes, or null if the text is not from this library.
const FakeDescriptor* plan_of_text(const std::string& text) {
  size_t version, engine, graph;
  if (std::sscanf(text.c_str(),
                  "{\"version\":%zu,\"engine\":%zu,\"graph\":%zu}", &version,
                  &engine, &graph) != 3 ||
      version != current->version || graph >= written.size() ||
      engine != written[graph]->engine || engine >= current->engines.size())
    return nullptr;
  return written[graph];
}

// The graph for the plan of this configuration: the last one for which engines
// were requested.
const FakeDescriptor* graph = nullptr;

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  if (fails("cudnnBackendFinalize")) return CUDNN_STATUS_NOT_SUPPORTED;
  FakeDescriptor& made = *static_cast<FakeDescriptor*>(descriptor);
  if (made.finalized) return refuse("finalized twice");
  const std::string error = check_descriptor(made);
  if (!error.empty()) return refuse(error);
  if (made.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    graph = made.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (made.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const FakeDescriptor* source = graph;
    if (made.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
      const auto text =
          made.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
      source = plan_of_text({text.begin(), text.end()});
      if (!source) return refuse("the text is of no plan");
      made.engine = source->engine;
      ++current->restored;
    } else {
      made.engine = made.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->engine;
    }
    if (current->engines[made.engine].unfinished) {
      current->refusal = "as asked for";
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
    ++current->plans;
    // A plan keeps a copy of the graph and does not need its descriptors.
    made.attributes.clear();
    for (const auto& [name, attribute] : source->attributes)
      made.attributes[name] = attribute;
  }
  made.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                      cudnnBackendDescriptor_t pack) {
  ++current->executions;
  if (fails("cudnnBackendExecute")) return CUDNN_STATUS_EXECUTION_FAILED;
  const FakeDescriptor& made = *static_cast<FakeDescriptor*>(plan);
  const FakeDescriptor& variant = *static_cast<FakeDescriptor*>(pack);
  if (!handle || !made.finalized || !variant.finalized)
    return refuse("not finalized");
  const FakeCudnn::Engine& engine = current->engines[made.engine];
  if (engine.broken) return CUDNN_STATUS_EXECUTION_FAILED;
  void* workspace = variant.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (engine.workspace_bytes > 0 && !workspace) return refuse("no workspace");
  std::map<int64_t, void*> addresses;
  const bool attention = has_product(made);
  const auto uids = variant.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto places = variant.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < uids.size(); ++i) addresses[uids[i]] = places[i];
  // Scalars passed by value are read now, from any address.
  const std::map<int64_t, float> scalars =
      attention ? values_of_scalars(made, addresses)
                : std::map<int64_t, float>();
  for (const auto& [uid, place] : addresses)
    if (reinterpret_cast<uintptr_t>(place) % 16 != 0 && !scalars.count(uid))
      return refuse("not aligned as was said");
  // Descriptors outlive the work, which a graph may run several times.
  const auto work = [conv = attention ? FakeConv{} : conv_of(made), attention,
                     graph = made, scalars, addresses, workspace,
                     bytes = engine.workspace_bytes] {
    // The library may write all of the workspace.
    if (bytes > 0) std::memset(workspace, 0xfb, bytes);
    if (attention)
      compute(graph, addresses, scalars);
    else
      compute(conv, addresses);
  };
  if (!current->queue)
    work();
  else if (!current->queue(current->stream, work))
    return CUDNN_STATUS_EXECUTION_FAILED;
  current->last = made.engine;
  if (current->driver) current->driver->microseconds += engine.microseconds;
  return CUDNN_STATUS_SUCCESS;
}

const Cudnn& fake_table() {
  static const Cudnn table = [] {
    Cudnn fake = {};
    fake.cudnnGetVersion = get_version;
    fake.cudnnGetErrorString = get_error_string;
    fake.cudnnGetLastErrorString = get_last_error;
    fake.cudnnCreate = create;
    fake.cudnnDestroy = destroy;
    fake.cudnnSetStream = set_stream;
    fake.cudnnBackendCreateDescriptor = create_descriptor;
    fake.cudnnBackendDestroyDescriptor = destroy_descriptor;
    fake.cudnnBackendSetAttribute = set_attribute;
    fake.cudnnBackendGetAttribute = get_attribute;
    fake.cudnnBackendFinalize = finalize;
    fake.cudnnBackendExecute = execute;
    return fake;
  }();
  return table;
}

}  // namespace

FakeCudnn::FakeCudnn(HostDriver* driver) : driver(driver) { current = this; }
FakeCudnn::~FakeCudnn() {
  current = nullptr;
  written.clear();
  made_so_far.clear();
}
const Cudnn* FakeCudnn::table() const { return &fake_table(); }

}  // namespace mpc::test
