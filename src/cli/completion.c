/* completion.c - prints the scripts with which bash and zsh complete command lines. */
#include "cli/help.h"

#include "version.h"

/* Shells that have a script. */
#define SHELLS "bash zsh"

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void print_names(FILE *file, unsigned sorts)
{
    char text[LW_WORD_LIST];
    fprintf(file, " %s", lw_word_list(sorts, " ", text));
}

/* Print the shell function _lapwing_words, for bash and zsh. It prints the words that may follow lapwing or one of its commands,
 * and FILE where a file's name may follow. */
static void print_words(FILE *file)
{
    fprintf(file, "# The words that may follow: behind lapwing, or behind a command.\n"
                  "_lapwing_words() {\n    case $1 in\n        '') echo");
    print_names(file, LW_WORD_JOB | LW_WORD_COMMAND);
    fprintf(file, " --help --version ;;\n");
    for (const struct lw_command *command = lw_commands; command->name; command++) {
        fprintf(file, "        %s) echo%s", command->name,
                command->action == LW_ACTION_HELP ? " --man --completion --all" : "");
        if (command->words)
            print_names(file, command->words);
        fprintf(file, "%s ;;\n", command->takes_files ? " FILE" : "");
    }
    fprintf(file, "    esac\n}\n\n");
}

/* ---- options ------------------------------------------------------------------------------------------------------- */

/* Text before the options of some words ("ols", "plan ols", "filters chirp"), function for each option, text behind them. */
struct visitor {
    FILE *file;
    const char *begin, *end;
    void (*visit)(FILE *file, const struct lw_option *option);
};

/* Print the options that may follow `command` ("", "plan ") and `name` (such as a job's), but none within other options. */
static void visit_command(const struct visitor *each, const char *command, const char *name, enum lw_action action,
                          const struct lw_job_ops *job, const struct lw_filter_kind *kind)
{
    struct lw_section sections[LW_COMMAND_SECTIONS];
    const int n = lw_command_sections(action, job, kind, sections);
    fprintf(each->file, "        '%s%s') %s", command, name, each->begin);
    for (int i = 0; i < n; i++)
        for (const struct lw_option *option = sections[i].table; option->name; option++)
            if (lw_option_is_own(option) && !lw_section_replaces(sections, i, option->name))
                each->visit(each->file, option);
    fputs(each->end, each->file);
}

static void visit_all(const struct visitor *each)
{
    for (int i = 0; lw_jobs[i]; i++) {
        visit_command(each, "", lw_jobs[i]->name, LW_ACTION_RUN, lw_jobs[i], NULL);
        visit_command(each, "plan ", lw_jobs[i]->name, LW_ACTION_PLAN, lw_jobs[i], NULL);
        visit_command(each, "synth ", lw_jobs[i]->name, LW_ACTION_SYNTH, lw_jobs[i], NULL);
    }
    for (int i = 0; lw_filter_kinds[i]; i++)
        visit_command(each, "filters ", lw_filter_kinds[i]->name, LW_ACTION_FILTERS, NULL, lw_filter_kinds[i]);
    visit_command(each, "", "info", LW_ACTION_INFO, NULL, NULL);
    visit_command(each, "", "plot", LW_ACTION_PLOT, NULL, NULL);
    visit_command(each, "", "verify", LW_ACTION_VERIFY, NULL, NULL);
}

/* Print the values of a choice: "full same valid". */
static void print_choices(FILE *file, const char *choices)
{
    for (const char *at = choices; *at; at++)
        fputc(*at == '|' ? ' ' : *at, file);
}

/* ---- bash ---------------------------------------------------------------------------------------------------------- */

static void print_name(FILE *file, const struct lw_option *option) { fprintf(file, " --%s", option->name); }

static void print_value(FILE *file, const struct lw_option *option)
{
    if (option->kind == LW_OPTION_FLAG)
        return;
    fprintf(file, "            --%s) echo '", option->name);
    if (option->kind == LW_OPTION_CHOICE)
        print_choices(file, option->choices);
    else
        fprintf(file, "%s", option->kind == LW_OPTION_FILE || option->kind == LW_OPTION_NAMES ? "FILE" : "NOTHING");
    fprintf(file, "' ;;\n");
}

/* bash splits words at = and :, so that --mode=full arrives as three words. */
static const char bash_functions[] =
    "# Complete $2 by words of $1; FILE among them stands for names of files.\n"
    "_lapwing_complete() {\n"
    "    case \" $1 \" in\n"
    "        *' FILE '*)\n"
    "            compopt -o filenames -o default 2>/dev/null     # default: names with ~, which compgen does not know\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
    "    esac\n"
    "    local word words\n"
    "    read -ra words <<<\"$1\"\n"
    "    for word in \"${words[@]}\"; do\n"
    "        [[ $word == FILE || $word == NOTHING || $word != \"$2\"* ]] || COMPREPLY+=(\"$word\")\n"
    "    done\n"
    "}\n"
    "\n"
    "# The words before the options: \"ols\", \"plan ols\"; behind a job file those of its section.\n"
    "_lapwing_command() {\n"
    "    local first=${COMP_WORDS[1]} second=${COMP_WORDS[2]:-} job=\n"
    "    case $first in\n"
    "        run | plan) [[ -f $second ]] && job=$(sed -n 's/^[[:blank:]]*\\[\\([a-z0-9]*\\)\\].*/\\1/p' -- \"$second\" | head -n "
    "1) ;;\n"
    "    esac\n"
    "    case $first in\n"
    "        run) echo \"$job\" ;;\n"
    "        plan) echo \"plan ${job:-$second}\" ;;\n"
    "        synth | filters) echo \"$first $second\" ;;\n"
    "        *) echo \"$first\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_lapwing() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command values\n"
    "    COMPREPLY=()\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _lapwing_complete \"$(_lapwing_words '')\" \"$current\"\n"
    "        return\n"
    "    fi\n"
    "    command=$(_lapwing_command)\n"
    "    if [[ $before == --* ]]; then\n"
    "        values=$(_lapwing_values \"$command\" \"$before\")\n"
    "        if [[ $values ]]; then\n"
    "            _lapwing_complete \"$values\" \"$current\"\n"
    "            return\n"
    "        fi\n"
    "    fi\n"
    "    if [[ $current == -* && ${COMP_WORDS[1]} != help ]]; then\n"
    "        _lapwing_complete \"$(_lapwing_options \"$command\")\" \"$current\"\n"
    "    elif ((COMP_CWORD == 2)) || [[ ${COMP_WORDS[1]} == help || ${COMP_WORDS[1]} == info ]]; then\n"
    "        _lapwing_complete \"$(_lapwing_words \"${COMP_WORDS[1]}\")\" \"$current\"\n"
    "    fi\n"
    "}\n"
    "complete -F _lapwing lapwing\n";

void lw_completion_bash(FILE *file)
{
    fprintf(file, "# Completion for bash of the command lines of lapwing %s, made by 'lapwing help --completion bash'.\n\n",
            LW_VERSION);
    print_words(file);
    fprintf(file, "# The options that may stand behind some words.\n"
                  "_lapwing_options() {\n    case $1 in\n");
    visit_all(&(struct visitor){file, "echo --help", " ;;\n", print_name});
    fprintf(file, "    esac\n}\n\n"
                  "# The values of option $2: FILE is any file's name, NOTHING a value that cannot be listed; a flag has no line.\n"
                  "_lapwing_values() {\n    case $1 in\n");
    visit_all(&(struct visitor){file, "case $2 in\n", "        esac ;;\n", print_value});
    fprintf(file, "        'help') case $2 in\n            --completion) echo '" SHELLS
                  "' ;;\n        esac ;;\n    esac\n}\n\n");
    fputs(bash_functions, file);
}

/* ---- zsh ----------------------------------------------------------------------------------------------------------- */

/* Print the first `length` characters of `text`, with a backslash before characters in `special`. */
static void print_escaped(FILE *file, const char *text, size_t length, const char *special)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            fputs("'\\'", file);
        else if (strchr(special, text[i]))
            fputc('\\', file);
        fputc(text[i], file);
    }
}

/* Print an option for zsh: [first sentence of its help], then :name of its argument. A ] or : within a text needs a backslash. */
static void print_spec(FILE *file, const struct lw_option *option)
{
    const char *const stop = strstr(option->help, ". "), *const argument = option->argument ? option->argument : option->name;
    size_t length = stop ? (size_t)(stop - option->help) : strlen(option->help);
    if (length > 0 && option->help[length - 1] == '.')
        length--;
    fprintf(file, "            '--%s%s[", option->name, option->kind == LW_OPTION_FLAG ? "" : "=");
    print_escaped(file, option->help, length, "\\]");
    fputc(']', file);
    if (option->kind != LW_OPTION_FLAG) {
        fputc(':', file);
        print_escaped(file, argument, strlen(argument), "\\:");
    }
    if (option->kind == LW_OPTION_CHOICE) {
        fputs(":(", file);
        print_choices(file, option->choices);
        fputc(')', file);
    } else if (option->kind != LW_OPTION_FLAG) {
        fputs(option->kind == LW_OPTION_FILE || option->kind == LW_OPTION_NAMES ? ":_files" : ": ", file);
    }
    fputs("'\n", file);
}

/* If the script lies in a folder of functions, zsh loads it as function _lapwing; otherwise the script is sourced. */
static const char zsh_functions[] =
    "# Offer the words of $1, with what they stand for; FILE among them stands for names of files.\n"
    "_lapwing_offer() {\n"
    "    local word\n"
    "    local -a items\n"
    "    for word in ${=1}; do\n"
    "        [[ $word == FILE ]] || items+=(\"$word${_lapwing_titles[$word]:+:$_lapwing_titles[$word]}\")\n"
    "    done\n"
    "    ((! $#items)) || _describe word items\n"
    "    [[ \" $1 \" != *' FILE '* ]] || _files\n"
    "}\n"
    "\n"
    "_lapwing() {\n"
    "    local first=$words[2] second=${words[3]-} job before=1 offered\n"
    "    local -a specs\n"
    "    if ((CURRENT == 2)); then\n"
    "        _lapwing_offer \"$(_lapwing_words '')\"\n"
    "        return\n"
    "    fi\n"
    "    offered=$(_lapwing_words \"$first\")\n"
    "    if [[ $first == help ]]; then\n"
    "        [[ $words[CURRENT-1] == --completion ]] && offered=$_lapwing_shells\n"
    "        _lapwing_offer \"$offered\"\n"
    "        return\n"
    "    fi\n"
    "    case $first in\n"
    "        run | plan | synth | filters)\n"
    "            if ((CURRENT == 3)); then\n"
    "                _lapwing_offer \"$offered\"\n"
    "                return\n"
    "            fi\n"
    "            before=2 ;;\n"
    "    esac\n"
    "    # Behind a job file the options are those of its job.\n"
    "    case $first in\n"
    "        run | plan)\n"
    "            [[ -f $second ]] && job=$(sed -n 's/^[[:blank:]]*\\[\\([a-z0-9]*\\)\\].*/\\1/p' -- $second | head -n 1) ;;\n"
    "    esac\n"
    "    case $first in\n"
    "        run) _lapwing_specs \"$job\" ;;\n"
    "        plan) _lapwing_specs \"plan ${job:-$second}\" ;;\n"
    "        synth | filters) _lapwing_specs \"$first $second\" ;;\n"
    "        *) _lapwing_specs \"$first\" ;;\n"
    "    esac\n"
    "    ((! $#specs)) && return\n"
    "    # Words that are no options: operands, and values of options that take several files.\n"
    "    [[ $first == (synth|filters) ]] || specs+=('*:FILE:_files')\n"
    "    shift $before words\n"
    "    ((CURRENT -= before))\n"
    "    _arguments \"$specs[@]\"\n"
    "}\n"
    "\n"
    "if [[ $funcstack[1] == _lapwing ]]; then\n"
    "    _lapwing \"$@\"\n"
    "else\n"
    "    compdef _lapwing lapwing\n"
    "fi\n";

void lw_completion_zsh(FILE *file)
{
    struct lw_word word;
    fprintf(file, "#compdef lapwing\n"
                  "# Completion for zsh of the command lines of lapwing %s, made by 'lapwing help --completion zsh'.\n\n",
            LW_VERSION);
    print_words(file);
    fprintf(file, "# What these words stand for.\ntypeset -gA _lapwing_titles=(\n");
    for (int i = 0; (word = lw_word_at(LW_WORD_JOB | LW_WORD_COMMAND | LW_WORD_KIND, i)).name; i++) {
        fprintf(file, "    %s '", word.name);
        print_escaped(file, word.title, strlen(word.title), "");
        fprintf(file, "'\n");
    }
    fprintf(file, ")\n\n"
                  "# Sets specs to the options that may stand behind some words.\n"
                  "_lapwing_specs() {\n    case $1 in\n");
    visit_all(&(struct visitor){file, "specs=(\n            '--help[show the help and its options]'\n", "        ) ;;\n",
                                print_spec});
    fprintf(file, "    esac\n}\n\n");
    fputs("_lapwing_shells='" SHELLS "'\n\n", file);
    fputs(zsh_functions, file);
}
