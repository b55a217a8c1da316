#include "cli/commands.h"

#include "engine/registry.h"
#include "job/hints.h"
#include "job/selection.h"
#include "options/parse.h"
#include "plot/plot.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

const struct lw_command lw_commands[] = {
    {.name = "plan", .action = LW_ACTION_PLAN, .operands = "(JOB | JOB.ini) [options]",
     .words = LW_WORD_JOB, .takes_files = true,
     .title = "say how a job would run, without running it",
     .description = "Takes the options of the job, or a job file and, as run does, options that override it, and prints ranks, "
                    "rounds, slice, halo, segment length, bytes per rank, the size of the output and, for --time of Slurm, an "
                    "estimate of the run time. What cannot fit is refused, with the remedy. With --measure the job is tried for a "
                    "few seconds and its time is said from that. With --each it prints the plan of the largest result, and what "
                    "all of them take together: bytes to read and write, memory, time. Start it on as many ranks as the job "
                    "itself.",
     .example = "mpirun -np 4 lapwing plan ols --input survey.h5:/signal \\\n"
                "    --filters survey.h5:/filters --memory 8G\n"
                "mpirun -np 4 lapwing plan jobs/ols.ini --measure"},
    {.name = "synth", .action = LW_ACTION_SYNTH, .operands = "JOB [options]",
     .words = LW_WORD_JOB,
     .title = "make a synthetic survey as input for a job",
     .description = "Writes one HDF5 file with everything that the job needs, and says in its attributes what is hidden where. The "
                    "same options give the same data on any number of ranks.",
     .example = "lapwing synth ols --output survey.h5"},
    {.name = "filters", .action = LW_ACTION_FILTERS, .operands = "KIND [options]",
     .words = LW_WORD_KIND,
     .title = "make a bank of filters for ols",
     .description = "Writes one HDF5 file with /taps, a filter [M] or several [F x M], for the sampling rate that --rate gives, "
                    "and says of each filter how long it is, what it passes, how well it stops the rest, and its delay. Attributes "
                    "of /taps say the same and how it was made.",
     .example = "lapwing filters bandpass --rate 500 --from 2 --to 20 --transition 2 \\\n"
                "    --output bank.h5\n"
                "lapwing ols --input das.h5:/strain --filters bank.h5:/taps --output out.h5"},
    {.name = "run", .action = LW_ACTION_RUN_FILE, .operands = "JOB.ini [options]",
     .takes_files = true,
     .title = "run the job that a file describes",
     .description = "A job file holds one section named after the job, such as [ols], and in it lines 'option = value' with the "
                    "options' names without dashes; flags take yes or no. Lines that begin with # or ; are comments, and so is "
                    "what follows a ; behind a blank; a # behind a blank is refused, and where # or ; belongs to a value there, it "
                    "is written \\# or \\;. ${NAME} stands for the value of a variable of rank 0's environment and "
                    "${NAME:-default} for the default where it is not set, such as ${SLURM_ARRAY_TASK_ID:-0}; \\${ is ${ itself. A "
                    "file name may begin with ~/, the home folder. A long value goes on in the next line where a line ends with a "
                    "backslash. Only rank 0 reads the file. Options on the command line override those in the file; in neither may "
                    "one be given twice. A result keeps its configuration in this form: 'lapwing info --job RESULT.h5' prints it.",
     .example = "mpirun -np 4 lapwing run jobs/ols.ini --output other.h5\n"
                "lapwing run jobs/examples/image-sources.ini --input M51.fits"},
    {.name = "info", .action = LW_ACTION_INFO, .operands = "[--job] [FILE[:/dataset] | FOLDER] [options]",
     .takes_files = true,
     .title = "show this build and machine, or what a file holds",
     .description = "Without a file: versions of lapwing, compiler, MPI and HDF5, the engines that can be used, and the cores and "
                    "memory that this process may use. With a file of any format, or a dataset of it: format and convention, shape "
                    "with the names of the dimensions, type, rate, times of the first and last sample in UTC and GPS, coordinates, "
                    "unit and storage. Of a table, such as /peaks or /spectrum, the 20 strongest rows, of sources with their "
                    "places on the sky where the input tells these. With a file of several datasets: all of them, too; if it is a "
                    "result of lapwing, also the job file that makes it again, and whether it is incomplete. With a folder: what "
                    "runs that were ended early have left in it, how far each came, and its command. With options: the dataset as "
                    "a job reads it that has the same ones.",
     .example = "lapwing info\nlapwing info survey.h5\nlapwing info survey.h5:/signal\nlapwing info events.h5:/peaks\n"
                "lapwing info capture.bin --format raw=int16be,64,time-slow,512 \\\n    --sample-rate 1kHz\n"
                "lapwing info --job filtered.h5 > again.ini\n"
                "lapwing run again.ini --output again.h5"},
    {.name = "plot", .action = LW_ACTION_PLOT, .operands = "FILE[:/dataset] ... [options]",
     .takes_files = true,
     .title = "draw what files hold, as a picture",
     .description = "Draws a dataset by gnuplot (Debian package gnuplot-nox): series as the range from the least to the largest "
                    "sample of each column of pixels, many channels as a waterfall of colours, images, sparse spectra, peaks over "
                    "time and filter, and the impulse and frequency responses of a bank of filters. Of a result, the input is "
                    "drawn above it where it is still there. Colours go from the 1st to the 99th percentile, symmetric about zero "
                    "where values have both signs; a cell that holds several samples shows their mean, or where they have both "
                    "signs the one farthest from zero, and above 32 samples their rms value. Complex samples are shown by their "
                    "magnitudes. Without a dataset, the file's first result is drawn, or what its convention calls the data. Files "
                    "of all formats are drawn. Several names, patterns and lists @FILE are one axis, as for --input of a job; "
                    "times that no file has stay white. FITS images have row 0 at the bottom, others at the top; over images with "
                    "coordinates of the sky, and sources in them, are lines of right ascension and declination. Of what is larger "
                    "than --read, a part is drawn that is spread evenly. One process does it.",
     .example = "lapwing plot out.h5:/filtered --from 10 --to 12 --output out.png\n"
                "lapwing plot 'day/*.h5:/Acoustic' --distance 2km:3km \\\n"
                "    --from 2023-09-22T18:29:00 --to 2023-09-22T18:31:00 --output day.png"},
    {.name = "verify", .action = LW_ACTION_VERIFY, .operands = "RESULT ... [options]",
     .takes_files = true,
     .title = "check that results are complete and right",
     .description = "Says whether a result is complete, compares its checksums, where it has any, then makes random values of it "
                    "again from its input and filters, by the definition and in double precision, and compares: outputs of series, "
                    "images, blocks and best filters, rows of tables of peaks with their neighbours, and lines of a sparse "
                    "spectrum. The job is that of the result's own configuration; its input must still be there. Of each dataset "
                    "it prints how many values were checked and the largest error, as a part of the promised one, and where these "
                    "are not all how many wrong ones such a sample finds with 95%. Several results, patterns and lists @FILE are "
                    "checked one after the other. Noise and spectra, which were measured in all of the data, are taken from the "
                    "result. One process does it. The exit status is 0 only if all is right, and 65 otherwise, naming the worst "
                    "place.",
     .example = "lapwing verify filtered.h5\nlapwing verify 'day-*.h5' --sample 10000 --seed 2\n"
                "lapwing verify filtered.h5 --input /archive/survey.h5:/signal"},
    {.name = "help", .action = LW_ACTION_HELP, .operands = "[--completion [SHELL] | [--man | --all] [COMMAND] [JOB | KIND]]",
     .words = LW_WORD_JOB | LW_WORD_COMMAND | LW_WORD_KIND,
     .title = "show this help, or that of a command",
     .description = "The same as --help behind the command. Which word comes first does not matter. With --all, options that are "
                    "rarely needed are listed, too. 'lapwing help --man' prints the manual page lapwing(1), with a command or job "
                    "that of it. 'lapwing help --completion' prints what bash, or with the word zsh behind it zsh, needs to "
                    "complete commands, options and their values.",
     .example = "lapwing help ols\nlapwing help synth ols\nlapwing help --man ols | man -l -\n"
                "source <(lapwing help --completion bash)"},
    {.name = NULL},
};

#define ENGINE_CHOICE(name) "|" #name

const struct lw_option lw_common_options[] = {
    {.name = "input", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset", .is_required = true,
     .help = "File, and the dataset in it, that is to be processed. The dataset need not be named where the file holds only one, "
             "or follows a convention that says which one is the data, as strain and files of DAS do: 'lapwing info FILE' shows "
             "it; SEG-Y has none to name, and of miniSEED it is a channel, FILE:/NET.STA.LOC.CHA, or without it all of them. "
             "Several names, patterns such as 'day/*.h5:/data', and lists @FILE with a name in each line are one signal: sorted by "
             "their start times, else by name, joined where they follow each other. They must be of one detector, telescope, "
             "instrument, station or channel. A blank in a name has a backslash before it."},
    {.name = "gaps", .kind = LW_OPTION_CHOICE, .choices = "split|zero|error", .fallback = "split", .former = "nan",
     .help = "What becomes of the times between several files, or within one of miniSEED, that none of them has. split: their "
             "samples are not numbers, and so are exactly the outputs that depend on them; zero: they are 0; error: there must be "
             "none. Rows that a PSRFITS file lacks are not numbers: see --nan."},
    {.name = "overlap", .kind = LW_OPTION_CHOICE, .choices = "error|first|last", .fallback = "error", .is_rare = true,
     .help = "Samples that several files have, or records of a miniSEED file. error: they must be the same in all of them; first, "
             "last: those of the file that begins first or last are taken, whatever the others hold."},
    {.name = "each", .kind = LW_OPTION_CHOICE, .choices = "file|stretch",
     .help = "Make a result of each file of --input, or of each stretch of files between two gaps. --output is then the folder for "
             "them, or a name in which {} stands for that of the first file without its ending. Results that are there are left "
             "alone, unless --overwrite. A file that cannot be processed is reported, and the others go on."},
    {.name = "beside", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset", .is_rare = true,
     .help = "Files that are not processed, but whose samples are read beyond the ends of --input, where they follow it, or it "
             "follows them, without a gap. --each file names them by itself."},
    {.name = "part", .kind = LW_OPTION_TEXT, .argument = "I/N", .within = "each", .word = "part",
     .help = "of all results, make only part I of N, counted from 0, as for ${SLURM_ARRAY_TASK_ID} of N array jobs."},
    LW_OPTIONS_HINTS,
    {.name = "output", .is_neutral = true, .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "File to make. It bears this name only when it is complete. It is HDF5, or of conv2d FITS where the name ends with "
             ".fits, .fit or .fts: the image with the keywords of a FITS input, their coordinates moved and scaled with the "
             "pixels, peaks as a binary table, and where it comes from as HISTORY."},
    LW_OPTION_GONE_ENTRY("output-format", "the name of --output decides, .fits, .fit or .fts make a FITS file"),
    LW_OPTION_OVERWRITE,
    {.name = "checksum", .kind = LW_OPTION_FLAG, .is_rare = true,
     .help = "Store checksums (XXH3 with 64 bits) with the result: one for each block of an array, in the group /checksums, made "
             "in memory before the block is written, and one for all rows of a table. 'lapwing verify' finds by them what has "
             "changed on a disk or on the way to it."},
    {.name = "resume", .kind = LW_OPTION_CHOICE, .choices = "auto|never|require", .fallback = "auto", .is_neutral = true,
     .help = "Whether to go on with what lies beside --output of a run that was ended early. auto: go on if that run was asked the "
             "same, refuse if not, start over where nothing lies there. never: remove it and start over. require: refuse to start "
             "over."},
    {.name = "checkpoint", .kind = LW_OPTION_DURATION, .argument = "TIME", .fallback = "30s", .minimum = 0, .maximum = 1e9,
     .is_neutral = true, .is_rare = true,
     .help = "Make safe what is done so often, so that a run that is killed loses no more than that. 0: after each round."},
    {.name = "time-limit", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 1e-3, .maximum = 1e9, .is_neutral = true,
     .help = "Stop before this time has passed since the start, with what is done made safe and exit code 75: the same command "
             "then goes on. Default: the time that Slurm grants, else none."},
    {.name = "axis", .kind = LW_OPTION_CHOICE, .choices = "0|1",
     .help = "Dimension of the input that is the axis (time); the other holds the channels. Default: what the file's metadata "
             "says. Needed if it says nothing, unless one of the two has length 1."},
    {.name = "start", .kind = LW_OPTION_STRETCH, .argument = "SAMPLE", .fallback = "0", .minimum = 0, .maximum = 9e18,
     .help = "First sample of the axis to use, or the time to it such as 10s."},
    {.name = "count", .kind = LW_OPTION_STRETCH, .argument = "SAMPLES", .minimum = 1, .maximum = 9e18,
     .help = "Samples of the axis to use, or how long they last, such as 10s. Default: all from --start on."},
    {.name = "from", .kind = LW_OPTION_TEXT, .argument = "TIME",
     .help = "Use the samples from this time on: in UTC such as 2015-09-14T09:50:45.4, in seconds of GPS (1e8 and more), or since "
             "the start of the data, such as 10s or 2min."},
    {.name = "to", .kind = LW_OPTION_TEXT, .argument = "TIME", .help = "Use the samples before this time, told as for --from."},
    {.name = "isolated", .kind = LW_OPTION_FLAG, .fallback = "no", .is_rare = true,
     .help = "Take the ends of what --start, --count, --from, --to and --each file choose for ends of the data. Otherwise samples "
             "beyond them are read where the input has them, so that outputs are those of a run over all of it."},
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",
     .help = "Channels to use: from A to before B, every STEP-th; parts may be left out. A alone is one channel. Default: all."},
    LW_OPTIONS_COORDINATES,
    {.name = "split", .is_neutral = true, .kind = LW_OPTION_CHOICE, .choices = "auto|axis|channels", .fallback = "auto",
     .is_rare = true,
     .help = "What is divided among the ranks. auto takes the axis unless it is too short to keep all ranks busy."},
    {.name = "precision", .kind = LW_OPTION_CHOICE, .choices = "single|double", .fallback = "single",
     .help = "Floating-point precision to compute in."},
    {.name = "output-type", .kind = LW_OPTION_CHOICE,
     .choices = "float16|" LW_FLOATS(LW_SCALAR_TEXT, "|") "|input|" LW_INTEGERS(LW_SCALAR_TEXT, "|"),
     .help = "Type of the output's samples, any of these for any input, but no integers for complex results. input: that of the "
             "input as it is read. For an integer type results are rounded, saturated and, where they are not numbers, 0; float16 "
             "has 11 bits and saturates at 65504. How many results the type could not hold is said. Default: float32 for single, "
             "float64 for double precision."},
    {.name = "output-scale", .kind = LW_OPTION_REAL, .argument = "S", .minimum = 1e-300, .maximum = 1e300, .within = "output-type",
     .word = "scale",
     .help = "of integers or float16: a stored sample counts S, so that the result's values are divided by S before they are "
             "rounded. The attributes scale_factor and add_offset say so to programs that know the CF conventions."},
    {.name = "nan", .kind = LW_OPTION_CHOICE, .choices = "propagate|zero|error", .fallback = "propagate",
     .help = "What an input sample that is not finite does: make exactly the outputs that depend on it NaN, count as zero, or end "
             "the run."},
    {.name = "engine", .is_neutral = true, .kind = LW_OPTION_CHOICE, .choices = "auto" LW_ENGINES(ENGINE_CHOICE),
     .fallback = "auto",
     .help = "What computes: the CPU, or a GPU for each rank. auto takes GPUs where every rank has one of its own, or may share "
             "it, and says which engine it took and why."},
    {.name = "threads", .is_neutral = true, .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 4096,
     .help = "Threads of the CPU engine in each rank. Default: the cores that the rank may run on."},
    {.name = "io", .is_neutral = true, .kind = LW_OPTION_CHOICE, .choices = "auto|collective|direct", .fallback = "auto",
     .is_rare = true,
     .help = "How bytes get from the input and to the result. direct: by the I/O threads of each rank, side by side, straight from "
             "and to their place in the file. collective: by calls of the file formats' libraries, one after the other, the "
             "result's by all ranks together. auto takes direct where the file system is known to keep several writers of one file "
             "coherent, and says what it took and why. The results are the same."},
    LW_OPTION_GONE_ENTRY("io-threads", "they are as many as the rank has cores, 4 to 16"),
    {.name = "memory", .is_neutral = true, .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20,
     .help = "Host memory that each rank may use, such as 4G or 4GB (K, M, G, T: powers of 1024). Default: the rank's share of "
             "what the node has to spare, its cgroup allows and Slurm granted."},
    {.name = "gpu-memory", .is_neutral = true, .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20, .is_rare = true,
     .help = "GPU memory that each rank may use, such as 16G. Default, and most: the rank's share of what the device has free."},
    {.name = "share-gpu", .is_neutral = true, .kind = LW_OPTION_FLAG, .within = "engine", .word = "share-gpu",
     .help = "let several ranks use one GPU. Otherwise more ranks than GPUs on a node are an error, and so is a GPU that a "
             "launcher shows to two ranks."},
    LW_OPTION_GONE_ENTRY("cores", "a rank with a GPU keeps to the cores beside it, of those that it was started with"),
    {.name = "allow-mixed", .is_neutral = true, .kind = LW_OPTION_FLAG, .within = "engine", .word = "allow-mixed",
     .help = "run though the nodes' CPUs or GPUs are of different architecture. The result's last bits then depend on which rank "
             "computed them."},
    {.name = NULL},
};

const struct lw_option lw_plan_options[] = {
    {.name = "measure", .kind = LW_OPTION_FLAG,
     .help = "Try it: for a few seconds read the input, compute, and write a file beside --output, which is deleted again (sfft: "
             "search the first channels); and say how long the run will take. Otherwise the time is a guess from assumed rates."},
    {.name = NULL},
};

const struct lw_option lw_info_options[] = {
    {.name = "job", .kind = LW_OPTION_FLAG,
     .help = "Of a result print the job file that makes it again, and nothing else, so that it can be kept and run."},
    LW_OPTIONS_HINTS,
    {.name = NULL},
};

const struct lw_option lw_message_options[] = {
    {.name = "quiet", .is_neutral = true, .kind = LW_OPTION_FLAG, .help = "Print warnings and errors only."},
    {.name = "verbose", .is_neutral = true, .kind = LW_OPTION_FLAG, .help = "Print more about what is chosen and why."},
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
        sections[n++] = (struct lw_section){"Common options", "", lw_common_options};
        if (action == LW_ACTION_PLAN)
            sections[n++] = (struct lw_section){"Options of plan", "", lw_plan_options};
    }
    if (n > 0 && action != LW_ACTION_INFO)
        sections[n++] = (struct lw_section){"Messages", "", lw_message_options};
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
    size_t length = 0;
    for (int i = 0; (name = lw_word_at(sorts, i).name) && length < LW_WORD_LIST; i++)
        length += (size_t)snprintf(text + length, LW_WORD_LIST - length, "%s%s", i > 0 ? separator : "", name);
    return text;
}
