/* zsh.c - the script by which zsh completes command lines, with a line of help for each option. */
#include "cli/commands.h"
#include "cli/completion.h"
#include "version.h"

#include <string.h>

/* ---- texts between single quotes ----------------------------------------------------------------------------------- */

/* The first `length` characters of `text`, with a backslash before those in `special`. */
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

/* A colon ends a message. */
static void print_message(FILE *file, const char *text)
{
    print_escaped(file, text, strlen(text), "\\:");
}

/* The first sentence of an option's help, without its full stop; a bracket ends it. */
static void print_first_sentence(FILE *file, const char *help)
{
    const char *const stop = strstr(help, ". ");
    size_t length = stop ? (size_t)(stop - help) : strlen(help);
    if (length > 0 && help[length - 1] == '.')
        length--;
    print_escaped(file, help, length, "\\]");
}

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void print_titles(FILE *file)
{
    struct lw_word word;
    fprintf(file, "# What these words stand for.\ntypeset -gA _lapwing_titles=(\n");
    for (int i = 0; (word = lw_word_at(LW_WORD_JOB | LW_WORD_COMMAND | LW_WORD_KIND, i)).name; i++) {
        fprintf(file, "    %s '", word.name);
        print_escaped(file, word.title, strlen(word.title), "");
        fprintf(file, "'\n");
    }
    fprintf(file, ")\n\n");
}

/* ---- options, as _arguments takes them: '--mode=[...]:mode:(full same valid)' ----------------------------------------- */

static void begin_specs(FILE *file, const char *words)
{
    fprintf(file, "        '%s') specs=(\n            '--help[say what it does, and its options]'\n", words);
}

static void print_argument(FILE *file, const struct lw_option *option)
{
    fputc(':', file);
    print_message(file, option->argument ? option->argument : option->name);
    if (option->kind == LW_OPTION_CHOICE) {
        fputs(":(", file);
        lw_completion_choices(file, option->choices);
        fputc(')', file);
    } else {
        fputs(option->kind == LW_OPTION_FILE || option->kind == LW_OPTION_NAMES ? ":_files" : ": ", file);
    }
}

static void print_spec(const struct lw_option *option, FILE *file)
{
    fprintf(file, "            '--%s%s[", option->name, option->kind == LW_OPTION_FLAG ? "" : "=");
    print_first_sentence(file, option->help);
    fputc(']', file);
    if (option->kind != LW_OPTION_FLAG)
        print_argument(file, option);
    fputs("'\n", file);
}

static void end_specs(FILE *file)
{
    fprintf(file, "        ) ;;\n");
}

static void print_specs(FILE *file)
{
    fprintf(file, "# Sets specs to the options that may stand behind some words.\n"
                  "_lapwing_specs() {\n    case $1 in\n");
    lw_completion_each(&(struct lw_completion_visitor){file, begin_specs, print_spec, end_specs});
    fprintf(file, "    esac\n}\n\n");
}

/* ---- the script ---------------------------------------------------------------------------------------------------- */

/* zsh loads the script as the function _lapwing where it finds it in a folder of functions; otherwise it is sourced. */
static const char function[] =
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
    fprintf(file, "#compdef lapwing\n"
                  "# Completion for zsh of the command lines of lapwing %s, made by 'lapwing help --completion zsh'.\n\n",
            LW_VERSION);
    lw_completion_words(file);
    print_titles(file);
    print_specs(file);
    fputs("_lapwing_shells='" LW_COMPLETION_SHELLS "'\n\n", file);
    fputs(function, file);
}
