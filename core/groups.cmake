# Files are compiled in groups: a room, or several small ones of which one builds on the other. Reading the standard library and
# instantiating its templates is most of what a file costs, and a group does it once. Hence no two files of a group may use one name
# for different things, not even in unnamed namespaces. Kernels are in smaller groups, so that an edited op is linked in seconds.
#
# GROUP FOLDERS: a regular expression for folders of core/; the first that fits counts. Others are groups of their own.
set(GROUPS
    values "base|tensor"
    ops_and_devices "op|device"
    graph "graph.*"
    place "place.*"
    onnx "formats/onnx"
    messages "formats/.*"
    execution "partition|plan|run"
    reports_of_runs "report/(bench|compare|reduce)"
    reports_of_graphs "report/(copies|diff|draw)"
    train "train.*"
    ops_words "ops/(audio|lookup)"
    ops_flow "ops|ops/flow")
# What takes longest, and readers that name the keys of the same objects.
set(APART formats/load formats/node_reader formats/tensor_proto ops/array/gather ops/linear/einsum ops/linear/matmul
          ops/math/activation_grad ops/math/arithmetic ops/math/comparison ops/math/division ops/math/exponential
          ops/math/trigonometric ops/math/unary_arithmetic ops/nn/bias_add ops/nn/max_pool ops/image/resize_bilinear
          ops/reduce/arg_reduce ops/reduce/reductions ops/reduce/scan ops/reduce/segment ops/reduce/top_k)
# Rooms of kernels that are too large for one group: FOLDER, the first letters of the files of either half.
set(HALVED
    ops/array a-r s-z
    ops/math a-m n-z
    ops/nn a-f g-z)

function(emplace_group source result)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(file ${source} NAME_WE)
  string(REGEX REPLACE ".*/core/?" "" folder ${folder})
  set(group "${folder}")
  list(LENGTH GROUPS left)
  set(at 0)
  while(at LESS left)
    list(GET GROUPS ${at} name)
    math(EXPR at "${at} + 1")
    list(GET GROUPS ${at} folders)
    math(EXPR at "${at} + 1")
    if(folder MATCHES "^(${folders})$")
      set(group ${name})
      break()
    endif()
  endwhile()
  list(FIND HALVED "${folder}" at)
  if(at GREATER -1)
    math(EXPR first "${at} + 1")
    math(EXPR second "${at} + 2")
    list(GET HALVED ${first} letters)
    if(NOT file MATCHES "^[${letters}]")
      list(GET HALVED ${second} letters)
    endif()
    string(APPEND group "_${letters}")
  endif()
  if("${folder}/${file}" IN_LIST APART)
    set(group "")
  elseif("${group}" STREQUAL "")
    set(group pipeline)
  endif()
  string(MAKE_C_IDENTIFIER "${group}" group)
  set(${result} ${group} PARENT_SCOPE)
endfunction()

# Compiles the sources of a target that have a group together: as UNITY_BUILD, but by paths from the top of the tree. Where the tree lies
# is then nowhere in what the compiler reads, and a compiler cache serves one tree what another compiled.
# To be called when it is known what is special about a source: one with options or definitions of its own is compiled apart.
function(emplace_compile_together target)
  get_target_property(sources ${target} SOURCES)
  set(compiled)
  set(groups)
  foreach(source ${sources})
    set(group "")
    if(source MATCHES "[.]cpp$")
      get_source_file_property(group ${source} UNITY_GROUP)
      get_source_file_property(options ${source} COMPILE_OPTIONS)
      get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    endif()
    if(NOT group OR options OR definitions)
      list(APPEND compiled ${source})
      continue()
    endif()
    if(NOT group IN_LIST groups)
      list(APPEND groups ${group})
      list(APPEND compiled ${CMAKE_BINARY_DIR}/together/${target}/${group}.cpp)
      set(${group}_text "")
    endif()
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    string(APPEND ${group}_text "#include \"${source}\"\n")
  endforeach()
  foreach(group ${groups})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/together/${target}/${group}.cpp CONTENT "${${group}_text}" @ONLY)
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()
