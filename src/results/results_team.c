#include "results/results_team.h"

#include "support/memory.h"

enum { TEAM_RANKS = 8 };

static void split(struct results_team *team)
{
    int rank = (int)team->all.rank;
    MPI_Comm members, writers;
    MPI_Comm_split(team->all.comm, rank / TEAM_RANKS, rank, &members);
    team->members = comm_of(members);
    team->writes = team->members.rank == 0;
    MPI_Comm_split(team->all.comm, team->writes ? 0 : MPI_UNDEFINED, rank, &writers);
    if (team->writes)
        team->writers = comm_of(writers);
}

static void count_cubes(struct results_team *team, uint32_t first_cube, uint32_t cubes)
{
    size_t bytes = team->members.size * sizeof cubes;
    team->member_cubes = memory_new(team->members.size, sizeof cubes);
    comm_gather(&team->members, &cubes, sizeof cubes, team->member_cubes);
    comm_broadcast(&team->members, team->member_cubes, bytes);
    for (uint32_t i = 0; i < team->members.size; i++)
        team->cubes += team->member_cubes[i];
    team->first_cube = first_cube; /* of the first member, once it has told */
    comm_broadcast(&team->members, &team->first_cube, sizeof team->first_cube);
}

void results_team_form(struct results_team *team, const struct comm *all, uint32_t first_cube,
                       uint32_t cubes)
{
    *team = (struct results_team){.all = *all};
    split(team);
    count_cubes(team, first_cube, cubes);
}

void results_team_dismiss(struct results_team *team, bool together)
{
    if (together) {
        MPI_Comm_free(&team->members.comm);
        if (team->writes)
            MPI_Comm_free(&team->writers.comm);
    }
    memory_free(team->member_cubes);
}
