# group_families(EXTENSION LIST): in place of the kernels of LIST, files that include four of them each. Reading the headers is half of the
# work for most families; nvcc reads them four times. Hence no two of a group may use one name for different things, not even in unnamed
# namespaces.
function(group_families extension list)
  set(families ${${list}})
  set(groups)
  while(families)
    list(SUBLIST families 0 4 group)
    list(REMOVE_ITEM families ${group})
    list(TRANSFORM group REPLACE ".*/cuda/ops/(.*)" "#include \"cuda/ops/\\1\"\n")
    string(JOIN "" includes ${group})
    string(REGEX MATCH "ops/([a-z_]+)" first "${includes}")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/from_${CMAKE_MATCH_1}.${extension})
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
    list(APPEND groups ${file})
  endwhile()
  set(${list} ${groups} PARENT_SCOPE)
endfunction()
