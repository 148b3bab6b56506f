/* How long the results file takes, and what it does to memory. With a full disk it must fail with
 * one line, status 1, and leave nothing.
 *
 *     mpirun -np 16 bench_results OUT.h5 POINTS CUBES RECORDS [random]
 *
 * RECORDS: of a CUBE's trace in a point, at most; 0: no trace. Times are the slowest process's. */
#include <libgen.h>
#include <sys/resource.h>

#include "../mpi/results_content.h"

static double slowest(const struct comm *comm, double since)
{
    double spent = MPI_Wtime() - since;
    MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, comm->comm);
    return spent;
}

static uint64_t peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

static bool measure(struct content *content, const struct comm *comm, const char *path,
                    struct error *err)
{
    uint64_t before = peak_kib();
    double start = MPI_Wtime();
    struct results *results = results_open(comm, path, &content->layout, err);
    double opened = slowest(comm, start);
    if (results == NULL)
        return false;
    start = MPI_Wtime();
    for (uint32_t i = 0; i < content->layout.points; i++) {
        struct results_point point = content_point(content, i);
        if (!results_add(results, &point, err)) {
            results_abandon(results);
            return false;
        }
    }
    double added = slowest(comm, start);
    start = MPI_Wtime();
    struct results_run run = {.ranks = comm->size, .transport = "mpi"};
    bool good = results_close(results, &run, err);
    double closed = slowest(comm, start);
    uint64_t grown = comm_max(comm, peak_kib() - before);
    if (comm->rank == 0 && good)
        printf("open %.3f s, add %.3f s, close %.3f s, total %.3f s, memory +%llu KiB\n", opened,
               added, closed, opened + added + closed, (unsigned long long)grown);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: bench_results OUT.h5 POINTS CUBES RECORDS [random]\n");
        return 2;
    }
    setenv("OMPI_MCA_io", "^ompio", 0);
    results_start();
    MPI_Init(&argc, &argv);
    struct comm comm = comm_of(MPI_COMM_WORLD);
    struct content content = {.layout = {.version = "0.1.0",
                                         .config = "hbm:\n  capacity_gib: 36\n",
                                         .points = (uint32_t)atoi(argv[2]),
                                         .cubes = (uint32_t)atoi(argv[3]),
                                         .pes = 8,
                                         .groups = 2,
                                         .hbm_capacity_bytes = UINT64_C(36) << 30,
                                         .model_layers = 80,
                                         .summary = true},
                              .records = strtoull(argv[4], NULL, 10),
                              .random = argc > 5};
    char *directory = memory_copy_text(argv[1]);
    content_begin(&content, &comm, dirname(directory));
    struct error err = {ERROR_NONE, ""};
    bool good = measure(&content, &comm, argv[1], &err);
    if (!good && comm.rank == 0)
        fprintf(stderr, "error: %s\n", err.text);
    content_end(&content);
    memory_free(directory);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return !good;
}
