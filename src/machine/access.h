/* What lookahead may know of a CUBE besides the bounds that its parts give. */
#ifndef AHBM_MACHINE_ACCESS_H
#define AHBM_MACHINE_ACCESS_H

#include "machine/params.h"
#include "prog/program.h"

struct cube;
struct pe;
struct lookahead;

const struct machine_params *cube_params(const struct cube *cube);
uint32_t cube_id(const struct cube *cube);
uint32_t cube_pes(const struct cube *cube);
struct lookahead *cube_lookahead(const struct cube *cube);

const struct pe *cube_pe(const struct cube *cube, uint32_t pe);
struct program *pe_program(const struct pe *pe); /* NULL: none */
uint64_t pe_emissions(const struct pe *pe);      /* of the whole program (cube_run_program()) */

#endif
