/* completion.c - what completes command lines in any shell, and the script for bash. */
#include "cli/completion.h"

#include "cli/commands.h"
#include "version.h"

#include <string.h>

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void print_names(FILE *file, unsigned sorts)
{
    char text[LW_WORD_LIST];
    fprintf(file, " %s", lw_word_list(sorts, " ", text));
}

/* What may stand behind a command: words, and where FILE is among them, names of files. */
static void print_operands(FILE *file, const struct lw_command *command)
{
    fprintf(file, "        %s) echo", command->name);
    switch (command->action) {
    case LW_ACTION_PLAN:
        print_names(file, LW_WORD_JOB);
        fprintf(file, " FILE");
        break;
    case LW_ACTION_SYNTH:
        print_names(file, LW_WORD_JOB);
        break;
    case LW_ACTION_FILTERS:
        print_names(file, LW_WORD_KIND);
        break;
    case LW_ACTION_RUN_FILE:
    case LW_ACTION_INFO:
    case LW_ACTION_PLOT:
    case LW_ACTION_VERIFY:
        fprintf(file, " FILE");
        break;
    case LW_ACTION_HELP:
        fprintf(file, " --man --completion --all");
        print_names(file, LW_WORD_JOB | LW_WORD_COMMAND | LW_WORD_KIND);
        break;
    case LW_ACTION_RUN:
    case LW_ACTION_VERSION:
        break;
    }
    fprintf(file, " ;;\n");
}

void lw_completion_words(FILE *file)
{
    fprintf(file, "# The words that may follow: behind lapwing, or behind a command.\n"
                  "_lapwing_words() {\n    case $1 in\n        '') echo");
    print_names(file, LW_WORD_JOB | LW_WORD_COMMAND);
    fprintf(file, " --help --version ;;\n");
    for (const struct lw_command *command = lw_commands; command->name; command++)
        print_operands(file, command);
    fprintf(file, "    esac\n}\n\n");
}

/* ---- options ------------------------------------------------------------------------------------------------------- */

/* Options within others are no options of their own. */
static void visit_command(const struct lw_completion_visitor *each, const char *words, enum lw_action action,
                          const struct lw_job_ops *job, const struct lw_filter_kind *kind)
{
    struct lw_section sections[LW_COMMAND_SECTIONS];
    const int n = lw_command_sections(action, job, kind, sections);
    each->begin(each->file, words);
    for (int i = 0; i < n; i++)
        for (const struct lw_option *option = sections[i].table; option->name; option++)
            if (lw_option_is_own(option) && !lw_section_replaces(sections, i, option->name))
                each->visit(option, each->file);
    each->end(each->file);
}

void lw_completion_each(const struct lw_completion_visitor *each)
{
    char words[120];
    for (int i = 0; lw_jobs[i]; i++) {
        visit_command(each, lw_jobs[i]->name, LW_ACTION_RUN, lw_jobs[i], NULL);
        snprintf(words, sizeof words, "plan %s", lw_jobs[i]->name);
        visit_command(each, words, LW_ACTION_PLAN, lw_jobs[i], NULL);
        snprintf(words, sizeof words, "synth %s", lw_jobs[i]->name);
        visit_command(each, words, LW_ACTION_SYNTH, lw_jobs[i], NULL);
    }
    for (int i = 0; lw_filter_kinds[i]; i++) {
        snprintf(words, sizeof words, "filters %s", lw_filter_kinds[i]->name);
        visit_command(each, words, LW_ACTION_FILTERS, NULL, lw_filter_kinds[i]);
    }
    visit_command(each, "info", LW_ACTION_INFO, NULL, NULL);
    visit_command(each, "plot", LW_ACTION_PLOT, NULL, NULL);
    visit_command(each, "verify", LW_ACTION_VERIFY, NULL, NULL);
}

static void begin_names(FILE *file, const char *words)
{
    fprintf(file, "        '%s') echo --help", words);
}

static void print_name(const struct lw_option *option, FILE *file)
{
    fprintf(file, " --%s", option->name);
}

static void end_names(FILE *file)
{
    fprintf(file, " ;;\n");
}

static void begin_values(FILE *file, const char *words)
{
    fprintf(file, "        '%s') case $2 in\n", words);
}

void lw_completion_choices(FILE *file, const char *choices)
{
    for (const char *at = choices; *at; at++)
        fputc(*at == '|' ? ' ' : *at, file);
}

static void print_value(const struct lw_option *option, FILE *file)
{
    if (option->kind == LW_OPTION_FLAG)
        return;
    fprintf(file, "            --%s) echo '", option->name);
    if (option->kind == LW_OPTION_CHOICE)
        lw_completion_choices(file, option->choices);
    else
        fprintf(file, "%s", option->kind == LW_OPTION_FILE || option->kind == LW_OPTION_NAMES ? "FILE" : "NOTHING");
    fprintf(file, "' ;;\n");
}

static void end_values(FILE *file)
{
    fprintf(file, "        esac ;;\n");
}

static void print_options(FILE *file)
{
    fprintf(file, "# The options that may stand behind some words.\n"
                  "_lapwing_options() {\n    case $1 in\n");
    lw_completion_each(&(struct lw_completion_visitor){file, begin_names, print_name, end_names});
    fprintf(file, "    esac\n}\n\n"
                  "# The values of option $2 there: FILE is any file's name, NOTHING what nobody can know; no line for a flag.\n"
                  "_lapwing_values() {\n    case $1 in\n");
    lw_completion_each(&(struct lw_completion_visitor){file, begin_values, print_value, end_values});
    fprintf(file, "        'help') case $2 in\n            --completion) echo '" LW_COMPLETION_SHELLS
                  "' ;;\n        esac ;;\n    esac\n}\n\n");
}

/* ---- the script ---------------------------------------------------------------------------------------------------- */

/* bash divides words at = and :, so that --mode=full comes as three of them. */
static const char function[] =
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
    lw_completion_words(file);
    print_options(file);
    fputs(function, file);
}
