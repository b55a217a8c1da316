#include "cli/commands.h"

#include "base/text.h"
#include "engine/gpus.h"
#include "engine/registry.h"
#include "job/hints.h"
#include "job/selection.h"
#include "plot/plot.h"
#include "verify/verify.h"

#include <stdio.h>

const struct lw_command lw_commands[] = {
    {.name = "plan", .action = LW_ACTION_PLAN, .operands = "(JOB | JOB.ini) [options]",
     .words = LW_WORD_JOB, .takes_files = true,
     .title = "show how a job would run, without running it",
     .description = "Prints how a job would run, from the same options or job file: ranks, rounds, slice, halo, segment length, "
                    "bytes per rank, the size of the result, and an estimate of the run time for Slurm's --time. Options after a "
                    "job file override it, as for run. What cannot fit is refused with the remedy. With --measure the estimate "
                    "comes from a trial of a few seconds. With --each it is the plan of the largest result, and the bytes, memory "
                    "and time of all together. Start it on as many ranks as the job itself, or give --for.",
     .example = "mpirun -np 4 lapwing plan ols --input survey.h5:/signal \\\n"
                "    --filters survey.h5:/filters --memory 8G\n"
                "mpirun -np 4 lapwing plan jobs/ols.ini --measure\n"
                "lapwing plan jobs/ols.ini \\\n"
                "    --for nodes=64,ranks-per-node=8,gpu=H100,read=200GB/s,write=100GB/s"},
    {.name = "synth", .action = LW_ACTION_SYNTH, .operands = "JOB [options]",
     .words = LW_WORD_JOB,
     .title = "make a synthetic survey as input for a job",
     .description = "Writes one HDF5 file with everything that the job needs. Its attributes tell what is hidden where. The same "
                    "options give the same data on any number of ranks.",
     .example = "lapwing synth ols --output survey.h5"},
    {.name = "filters", .action = LW_ACTION_FILTERS, .operands = "KIND [options]",
     .words = LW_WORD_KIND,
     .title = "make a bank of filters for ols",
     .description = "Writes one HDF5 file with /taps, one filter [M] or several [F x M], for the sampling rate of --rate. It "
                    "prints for each filter its length, pass band, attenuation and delay. The attributes of /taps hold the same, "
                    "and how it was made.",
     .example = "lapwing filters bandpass --rate 500 --from 2 --to 20 --transition 2 \\\n"
                "    --output bank.h5\n"
                "lapwing ols --input das.h5:/strain --filters bank.h5:/taps --output out.h5"},
    {.name = "run", .action = LW_ACTION_RUN_FILE, .operands = "JOB.ini [options]",
     .takes_files = true,
     .title = "run the job that a file describes",
     .description = "A job file holds one section named after the job, such as [ols], with lines 'option = value'. Options have "
                    "their names without dashes; flags take yes or no. A line that begins with # or ; is a comment, and so is "
                    "what follows a ; after a blank. A # after a blank is refused; a # or ; that belongs to a value there is "
                    "written \\# or \\;. ${NAME} stands for an environment variable of rank 0, and ${NAME:-default} for the "
                    "default where it is not set, such as ${SLURM_ARRAY_TASK_ID:-0}; \\${ is ${ itself. A file name may begin "
                    "with ~/, the home folder. A line that ends with a backslash continues in the next one. Only rank 0 reads the "
                    "file. Options on the command line override the file's; neither may give one twice. A result keeps its "
                    "configuration in this form: 'lapwing info --job RESULT.h5' prints it.",
     .example = "mpirun -np 4 lapwing run jobs/ols.ini --output other.h5\n"
                "lapwing run jobs/examples/image-sources.ini --input M51.fits"},
    {.name = "info", .action = LW_ACTION_INFO, .operands = "[--job] [FILE[:/dataset] | FOLDER] [options]",
     .takes_files = true,
     .title = "show this build and machine, or what a file holds",
     .description = "Without a file: the versions of lapwing, compiler, MPI and HDF5, the engines that can be used, and the cores "
                    "and memory that this process may use. With a file of any format, or a dataset of it: format and convention, "
                    "shape and names of the dimensions, type, rate, times of the first and last sample in UTC and GPS, "
                    "coordinates, unit and storage. For a table, such as /peaks or /spectrum, it prints the 20 strongest rows, "
                    "without columns that hold nothing. A file of several datasets is listed. For a result of "
                    "lapwing it adds the job file that makes it again, and whether it is complete. With a folder: what "
                    "interrupted runs have left in it, how far each came, and its command. With options: the dataset as a job "
                    "with these options reads it.",
     .example = "lapwing info\nlapwing info survey.h5\nlapwing info survey.h5:/signal\nlapwing info events.h5:/peaks\n"
                "lapwing info capture.bin --format raw=int16be,64,time-slow,512 \\\n    --sample-rate 1kHz\n"
                "lapwing info --job filtered.h5 > again.ini\n"
                "lapwing info found.h5:/candidates\n"
                "lapwing run again.ini --output again.h5"},
    {.name = "plot", .action = LW_ACTION_PLOT, .operands = "FILE[:/dataset] ... [options]",
     .takes_files = true,
     .title = "draw what files hold, as a picture",
     .description = "Draws a dataset by gnuplot (Debian package gnuplot-nox). Few channels are drawn as series, each column of "
                    "pixels from the least to the largest of its samples; many channels as a waterfall of colours. Images, sparse "
                    "spectra, peaks over time and filter, and impulse and frequency responses of banks of filters have pictures "
                    "of their own. Above a result stands its input, where it is still there. Colours go from the 1st to the 99th "
                    "percentile, symmetric about zero where values have both signs. A cell with several samples shows their mean; "
                    "with both signs, the one farthest from zero; with more than 32 samples, their rms. Complex samples are shown "
                    "by their magnitudes. If no dataset is named, the file's first result is drawn, or what its convention marks "
                    "as the data. Files of all formats are drawn. Several names, patterns and lists @FILE form one axis, as for "
                    "--input of a job; times without a file stay white. FITS images have row 0 at the bottom, others at the top. "
                    "Images with coordinates of the sky get lines of right ascension and declination, and their sources. A "
                    "dataset larger than --read is drawn from a part that is spread evenly over it. Only one process works.",
     .example = "lapwing plot out.h5:/filtered --from 10 --to 12 --output out.png\n"
                "lapwing plot 'day/*.h5:/Acoustic' --distance 2km:3km \\\n"
                "    --from 2023-09-22T18:29:00 --to 2023-09-22T18:31:00 --output day.png"},
    {.name = "verify", .action = LW_ACTION_VERIFY, .operands = "RESULT ... [options]",
     .takes_files = true,
     .title = "check that results are complete and right",
     .description = "Checks whether results are complete and right. It compares the checksums of a result, where it has any. Then "
                    "it computes random values of it again, from its input and filters, by the definition and in double "
                    "precision. These are outputs of series, images, blocks and best filters, rows of tables of peaks with their "
                    "neighbours, lines of a sparse spectrum and powers of candidates. The job is read from the result's own "
                    "configuration; its input must still be there. For each dataset it prints how many values were checked and "
                    "the largest error, where 1 is the guaranteed bound. If not all values were checked, it prints how many wrong "
                    "ones such a sample finds with 95% probability. Several results, patterns and lists @FILE are checked one "
                    "after the other. Noise and spectra, which were measured in all of the data, are taken from the result. Only "
                    "one process works. The exit status is 0 only if all is right, and 65 otherwise, naming the worst place.",
     .example = "lapwing verify filtered.h5\nlapwing verify 'day-*.h5' --sample 10000 --seed 2\n"
                "lapwing verify filtered.h5 --input /archive/survey.h5:/signal"},
    {.name = "help", .action = LW_ACTION_HELP, .operands = "[--completion [SHELL] | [--man | --all] [COMMAND] [JOB | KIND]]",
     .words = LW_WORD_JOB | LW_WORD_COMMAND | LW_WORD_KIND,
     .title = "show this help, or that of a command",
     .description = "The same as --help after the command. The order of the words does not matter. The help of a job lists common "
                    "options, a sentence each; with --all it lists all options in full. 'lapwing help --man' prints the manual "
                    "page lapwing(1), or that of a command or job. 'lapwing help --completion' prints what bash, or with the word "
                    "zsh behind it zsh, needs to complete commands, options and their values.",
     .example = "lapwing help ols\nlapwing help synth ols\nlapwing help --man ols | man -l -\n"
                "source <(lapwing help --completion bash)"},
    {.name = NULL},
};

#define ENGINE_CHOICE(name) "|" #name
#define GPU_NAME(name, ...) #name ", "

const struct lw_option lw_common_options[] = {
    {.name = "input", .group = LW_GROUP_INPUT, .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset", .is_required = true,
     .help = "File and dataset to process. The dataset may be left out where the file holds only one, or where its convention "
             "marks one as the data, as for strain and DAS: 'lapwing info FILE' shows which. SEG-Y has no names for datasets; in "
             "miniSEED the dataset is a channel, FILE:/NET.STA.LOC.CHA, or all of them if left out. Several names, patterns such "
             "as 'day/*.h5:/data', and lists @FILE with one name per line form one signal. Its files are sorted by start time, "
             "else by name, and joined where they follow each other. All must be of one detector, telescope, instrument, station "
             "or channel. Put a backslash before a blank in a name."},
    {.name = "gaps", .kind = LW_OPTION_CHOICE, .choices = "split|zero|error", .fallback = "split", .former = "nan",
     .help = "Samples in the gaps between files. split: they are not a number, and exactly the outputs that need one are not a "
             "number either. zero: they count as 0. error: gaps are refused. The same holds for gaps within a miniSEED file. "
             "Rows that a PSRFITS file lacks are not a number: see --nan."},
    {.name = "overlap", .kind = LW_OPTION_CHOICE, .choices = "error|first|last", .fallback = "error", .is_rare = true,
     .help = "What to do where files overlap. error: samples must be the same in all of them. first, last: take the samples of "
             "the file that begins first or last. The same holds for records of a miniSEED file."},
    {.name = "each", .kind = LW_OPTION_CHOICE, .choices = "file|stretch",
     .help = "Make one result per input file, or per stretch. A stretch is a run of files without a gap between them. --output "
             "is then a folder, or a name in which {} stands for the first file's name without its ending. Results that exist "
             "are left alone, unless --overwrite is given. A file that cannot be processed is reported, and the others go on."},
    {.name = "beside", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset", .is_rare = true,
     .help = "Neighbouring files with the samples beyond the ends. They are not processed. They must follow --input, or --input "
             "must follow them, without a gap. --each file finds them by itself."},
    {.name = "part", .kind = LW_OPTION_TEXT, .argument = "I/N", .within = "each", .word = "part",
     .help = "make only part I of N of all results, counted from 0, as in ${SLURM_ARRAY_TASK_ID} of N array jobs."},
    LW_OPTIONS_HINTS,
    {.name = "output", .group = LW_GROUP_OUTPUT, .is_neutral = true, .kind = LW_OPTION_FILE, .argument = "FILE",
     .is_required = true,
     .help = "File to make. It gets this name only when it is complete. It is an HDF5 file. With conv2d, a name that ends with "
             ".fits, .fit or .fts makes a FITS image instead. That image keeps the keywords of a FITS input, its coordinates "
             "follow the pixels, peaks become a binary table, and HISTORY names its origin."},
    LW_OPTION_GONE_ENTRY("output-format", "the name of --output decides, .fits, .fit or .fts make a FITS file"),
    LW_OPTION_OVERWRITE,
    {.name = "checksum", .kind = LW_OPTION_FLAG, .is_rare = true,
     .help = "Store checksums in the result. They are XXH3 with 64 bits: one for each block of an array, in the group "
             "/checksums, made in memory before the block is written, and one for all rows of a table. With them 'lapwing "
             "verify' finds what has changed on a disk or on the way to it."},
    {.name = "resume", .group = LW_GROUP_INTERRUPTION, .kind = LW_OPTION_CHOICE, .choices = "auto|never|require",
     .fallback = "auto", .is_neutral = true,
     .help = "Whether to continue an interrupted run. auto: continue if it had the same options, refuse if it had others, start "
             "over if there is none. never: delete what it left and start over. require: refuse to start over. What an "
             "interrupted run leaves lies beside --output."},
    {.name = "checkpoint", .kind = LW_OPTION_DURATION, .argument = "TIME", .fallback = "30s", .minimum = 0, .maximum = 1e9,
     .is_neutral = true, .is_rare = true,
     .help = "Time between checkpoints. A run that is killed loses no more than this. 0: after each round."},
    {.name = "time-limit", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 1e-3, .maximum = 1e9, .is_neutral = true,
     .help = "Time after which to end, with exit code 75. The run is interrupted in time to save its outputs, and the same "
             "command continues it. Default: the time that Slurm grants, else none."},
    {.name = "axis", .group = LW_GROUP_PART, .kind = LW_OPTION_CHOICE, .choices = "0|1",
     .help = "Dimension that is the axis (time). The other dimension holds the channels. Default: from the file's metadata. It "
             "is required where these do not tell, unless one dimension has length 1."},
    {.name = "start", .kind = LW_OPTION_STRETCH, .argument = "SAMPLE", .fallback = "0", .minimum = 0, .maximum = 9e18,
     .help = "First sample to use, or a time (10s)."},
    {.name = "count", .kind = LW_OPTION_STRETCH, .argument = "SAMPLES", .minimum = 1, .maximum = 9e18,
     .help = "Samples to use, or a time (10s). Default: all from --start on."},
    {.name = "from", .kind = LW_OPTION_TEXT, .argument = "TIME",
     .help = "Use samples from this time on. The time is in UTC such as 2015-09-14T09:50:45.4, in seconds of GPS (1e8 and more), "
             "or since the start of the data, such as 10s or 2min."},
    {.name = "to", .kind = LW_OPTION_TEXT, .argument = "TIME",
     .help = "Use samples before this time. It is written as for --from."},
    {.name = "isolated", .kind = LW_OPTION_FLAG, .fallback = "no", .is_rare = true,
     .help = "Treat the ends of the chosen part as ends of the data. Otherwise outputs equal those of a run over all of the "
             "data: samples beyond the ends that --start, --count, --from, --to and --each file choose are read, where the input "
             "has them."},
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",
     .help = "Channels to use, from A to before B, every STEP-th. Parts may be left out. A alone is one channel. Default: all."},
    LW_OPTIONS_COORDINATES,
    {.name = "split", .group = LW_GROUP_RESOURCES, .is_neutral = true, .kind = LW_OPTION_CHOICE, .fallback = "auto",
     .choices = "auto|axis|channels|filters", .is_rare = true,
     .help = "What the ranks share: the axis, the channels or the filters. auto takes the axis unless it is too short to keep all "
             "ranks busy, or short beside the bank."},
    {.name = "precision", .group = LW_GROUP_OUTPUT, .kind = LW_OPTION_CHOICE, .choices = "single|double", .fallback = "single",
     .help = "Precision of the computation."},
    {.name = "output-type", .kind = LW_OPTION_CHOICE, .argument = "TYPE",
     .choices = "float16|" LW_FLOATS(LW_SCALAR_TEXT, "|") "|input|" LW_INTEGERS(LW_SCALAR_TEXT, "|"),
     .help = "Type of the result's samples. Any of these serves any input, except that complex results take no integers. input: "
             "the type of the input. For integer types, results are rounded, saturated and, where they are not a number, 0. "
             "float16 has 11 bits and saturates at 65504. The log counts the results that the type could not hold. Default: "
             "float32 for single, float64 for double precision."},
    {.name = "output-scale", .kind = LW_OPTION_REAL, .argument = "S", .minimum = 1e-300, .maximum = 1e300, .within = "output-type",
     .word = "scale",
     .help = "a stored 1 stands for S (integers and float16): results are divided by S before they are rounded. The attributes "
             "scale_factor and add_offset pass this on to programs that know the CF conventions."},
    {.name = "nan", .group = LW_GROUP_INPUT, .kind = LW_OPTION_CHOICE, .choices = "propagate|zero|error", .fallback = "propagate",
     .help = "How NaN and infinity count. propagate: exactly the outputs that need such a sample become NaN. zero: it counts as "
             "0. error: the run ends with an error."},
    {.name = "engine", .group = LW_GROUP_RESOURCES, .is_neutral = true, .kind = LW_OPTION_CHOICE,
     .choices = "auto" LW_ENGINES(ENGINE_CHOICE),
     .fallback = "auto",
     .help = "What computes: CPU, or one GPU per rank. auto takes GPUs where every rank has one of its own, or may share one, and "
             "the whole run would take longer on the CPU. The log names the engine and the modelled time of either. A run "
             "that goes on with an interrupted one keeps its engine."},
    {.name = "threads", .is_neutral = true, .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 4096,
     .help = "CPU threads per rank. Default: the cores that the rank may run on."},
    {.name = "io", .is_neutral = true, .kind = LW_OPTION_CHOICE, .choices = "auto|collective|direct", .fallback = "auto",
     .is_rare = true,
     .help = "How files are read and written. direct: the I/O threads of each rank read and write at the data's place in the "
             "file, side by side. collective: the libraries of the file formats do, one call after the other, and all ranks "
             "write the result together. auto takes direct where the file system is known to keep several writers of one file "
             "coherent. The log names the way and the reason. The results are the same."},
    LW_OPTION_GONE_ENTRY("io-threads", "they are as many as the rank has cores, 4 to 16"),
    {.name = "memory", .is_neutral = true, .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20,
     .help = "Host memory per rank, such as 4G or 4GB. Units are K, M, G and T, powers of 1024. Default: the rank's share of "
             "what the node has free, its cgroup allows and Slurm granted."},
    {.name = "gpu-memory", .group = LW_GROUP_GPU, .is_neutral = true, .kind = LW_OPTION_BYTES, .argument = "BYTES",
     .minimum = 1 << 20, .is_rare = true,
     .help = "GPU memory per rank, such as 16G. Default, and most: the rank's share of what the device has free."},
    {.name = "share-gpu", .is_neutral = true, .kind = LW_OPTION_FLAG, .within = "engine", .word = "share-gpu",
     .help = "several ranks may use one GPU. Otherwise more ranks than GPUs on a node are an error, and so is a GPU that a "
             "launcher shows to two ranks."},
    LW_OPTION_GONE_ENTRY("cores", "a rank with a GPU keeps to the cores beside it, of those that it was started with"),
    {.name = "allow-mixed", .is_neutral = true, .kind = LW_OPTION_FLAG, .within = "engine", .word = "allow-mixed",
     .help = "nodes may have CPUs or GPUs of different architectures. The result's last bits then depend on which rank computed "
             "them."},
    {.name = NULL},
};

const struct lw_option lw_plan_options[] = {
    {.name = "for", .kind = LW_OPTION_TEXT, .argument = "MACHINE",
     .help = "Plan for a machine that is not here, such as nodes=64,gpu=H100,read=200GB/s, on one process and without its GPUs. "
             "Only nodes must be given; the plan names what it assumes. ranks-per-node, cores, memory, network (a rate), latency "
             "and iops (small reads per second) are those of a node. start is the launcher's time, slowdown the factor by which "
             "busy cores are slower than the models (default 3). read and write are rates of the file system, for all nodes "
             "together. With gpu, each rank has one: " LW_GPUS(GPU_NAME) "or none. Behind the plan stand a line for sbatch, and "
             "the times on 1, 2, 4, ... nodes. A file may hold the values, as lines 'nodes = 64' in a section [machine]: "
             "cluster.ini, or cluster.ini,nodes=32 to override them."},
    {.name = "measure", .kind = LW_OPTION_FLAG,
     .help = "Try the job for a few seconds instead of guessing. The input is read, outputs are computed, and a file beside "
             "--output is written and deleted again; sfft searches the first channels. The plan then estimates the time of the "
             "run from this. Otherwise it guesses from assumed rates."},
    {.name = NULL},
};

const struct lw_option lw_info_options[] = {
    {.name = "job", .kind = LW_OPTION_FLAG,
     .help = "Print only the job file that makes a result again. It can be kept and run."},
    {.name = "write-accel", .kind = LW_OPTION_FILE, .argument = "PREFIX",
     .help = "Write a table of candidates of accel as lists that PRESTO's sifting reads: for each channel a file "
             "PREFIX_DM12.30_ACCEL_200. The result must have been made with --keep-spectrum."},
    LW_OPTIONS_HINTS,
    {.name = NULL},
};

const struct lw_option lw_message_options[] = {
    {.name = "quiet", .group = LW_GROUP_MESSAGES, .is_neutral = true, .kind = LW_OPTION_FLAG,
     .help = "Print warnings and errors only."},
    {.name = "verbose", .is_neutral = true, .kind = LW_OPTION_FLAG,
     .help = "Print more about what is chosen and why."},
    {.name = NULL},
};

int lw_command_sections(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                        struct lw_section sections[LW_COMMAND_SECTIONS])
{
    int n = 0;
    if (action == LW_ACTION_INFO) {
        sections[n++] = (struct lw_section){"Options of info", "", lw_info_options};
    } else if (action == LW_ACTION_PLOT) {
        sections[n++] = (struct lw_section){"Options", "", lw_plot_options};
    } else if (action == LW_ACTION_VERIFY) {
        sections[n++] = (struct lw_section){"Options", "", lw_verify_options};
    } else if (action == LW_ACTION_FILTERS) {
        if (kind)
            sections[n++] = (struct lw_section){"Options of filters ", kind->name, kind->options};
        sections[n++] = (struct lw_section){"Options of every kind", "", lw_bank_options};
    } else if (action == LW_ACTION_SYNTH) {
        for (int i = 0; lw_jobs[i]; i++)
            if (!job || job == lw_jobs[i])
                sections[n++] = (struct lw_section){"Options of synth ", lw_jobs[i]->name, lw_jobs[i]->synth_options};
    } else if (job) {
        sections[n++] = (struct lw_section){"Options of ", job->name, job->options};
        sections[n++] = (struct lw_section){"", "", lw_common_options};
        if (action == LW_ACTION_PLAN)
            sections[n++] = (struct lw_section){"Options of plan", "", lw_plan_options};
    }
    if (n > 0 && action != LW_ACTION_INFO)
        sections[n++] = (struct lw_section){"", "", lw_message_options};
    return n;
}

bool lw_section_replaces(const struct lw_section *sections, int number, const char *name)
{
    for (int before = 0; before < number; before++)
        if (lw_option_find(sections[before].table, name))
            return true;
    return false;
}

int lw_command_options(enum lw_action action, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                       struct lw_options **out, struct lw_error *err)
{
    struct lw_section sections[LW_COMMAND_SECTIONS];
    const struct lw_option *tables[LW_COMMAND_SECTIONS + 1] = {NULL};
    const int n = lw_command_sections(action, job, kind, sections);
    for (int i = 0; i < n; i++)
        tables[i] = sections[i].table;
    return lw_options_create(tables, out, err);
}

struct lw_word lw_word_at(unsigned sorts, int number)
{
    for (int i = 0; sorts & LW_WORD_JOB && lw_jobs[i]; i++)
        if (number-- == 0)
            return (struct lw_word){lw_jobs[i]->name, lw_jobs[i]->title, .job = lw_jobs[i]};
    for (const struct lw_command *command = lw_commands; sorts & LW_WORD_COMMAND && command->name; command++)
        if (number-- == 0)
            return (struct lw_word){command->name, command->title, .command = command};
    for (int i = 0; sorts & LW_WORD_KIND && lw_filter_kinds[i]; i++)
        if (number-- == 0)
            return (struct lw_word){lw_filter_kinds[i]->name, lw_filter_kinds[i]->title, .kind = lw_filter_kinds[i]};
    return (struct lw_word){0};
}

struct lw_word lw_word_find(unsigned sorts, const char *name)
{
    int i = 0;
    struct lw_word word = lw_word_at(sorts, i);
    while (word.name && strcmp(word.name, name) != 0)
        word = lw_word_at(sorts, ++i);
    return word;
}

const char *lw_word_nearest(unsigned sorts, const char *name)
{
    const char *nearest = NULL, *candidate;
    int best = 0;
    for (int i = 0; (candidate = lw_word_at(sorts, i).name); i++) {
        const int distance = lw_nearness(name, candidate);
        if (distance < 0 || (nearest && distance >= best))
            continue;
        nearest = candidate;
        best = distance;
    }
    return nearest;
}

const char *lw_word_list(unsigned sorts, const char *separator, char text[LW_WORD_LIST])
{
    const char *name;
    text[0] = '\0';
    for (int i = 0; (name = lw_word_at(sorts, i).name); i++)
        lw_append(text, LW_WORD_LIST, "%s%s", i > 0 ? separator : "", name);
    return text;
}
