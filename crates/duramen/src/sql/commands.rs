//! Commands that change more than the batch: variables, connections, the system's shell.

use std::process;

use super::connection::Connection;
use super::run::{Exit, Flow, Runner};
use super::settings;

pub const HELP: &str = "\
GO [n]                 runs the batch so far, n times
:!! [command]          runs a command of the system
:connect SERVER [-l SECONDS] [-U LOGIN [-P PASSWORD]]
                       goes on with another server
:error FILE|stderr|stdout
                       where errors go
:exit                  ends at once
:exit()                runs the batch and ends
:exit(QUERY)           runs the batch and the query, whose first value is the exit code
:help                  this list
:list                  the batch so far
:listvar               the scripting variables
:on error exit|ignore  what an error does
:out FILE|stderr|stdout
                       where results go
:quit                  ends at once
:r FILE                reads statements from a file
:reset                 forgets the batch so far
:setvar NAME [VALUE]   sets a variable, or removes it
";

impl Runner {
    pub(super) fn set_variable(&mut self, name: &str, value: Option<String>) -> Flow {
        let name = name.to_ascii_uppercase();
        if settings::READ_ONLY.contains(&name.as_str()) {
            return self.fatal(&format!("The '{name}' scripting variable is read-only."));
        }
        match value {
            Some(value) => {
                if let Err(error) = settings::apply(&mut self.options, &name, &value) {
                    return self.fatal(&format!("'{name}': {error}"));
                }
                self.variables.insert(name, value);
            }
            None => {
                self.variables.remove(&name);
            }
        }
        Ok(())
    }

    /// `:connect`: the new connection is there before the old one goes.
    pub(super) fn reconnect(&mut self, words: &[String]) -> Flow {
        let mut options = self.options.clone();
        let mut words = words.iter();
        options.server = words.next().cloned().unwrap_or_default();
        options.database = String::new();
        while let Some(flag) = words.next() {
            let (flag, attached) = flag.split_at_checked(2).unwrap_or((flag, ""));
            let value = match attached {
                "" => words.next().cloned(),
                attached => Some(attached.to_string()),
            };
            match (flag, value) {
                ("-U", Some(value)) => options.user = value,
                ("-P", Some(value)) => options.password = value,
                ("-l", Some(value)) => {
                    if let Err(error) = settings::apply(&mut options, "SQLCMDLOGINTIMEOUT", &value)
                    {
                        return self.fatal(&format!("':connect -l {value}': {error}"));
                    }
                }
                _ => return self.fatal(&format!("':connect {flag}': unexpected argument.")),
            }
        }
        let opened = options
            .set_server()
            .and_then(|()| Connection::open(&options, self.interrupts.clone()));
        match opened {
            Ok(connection) => {
                self.connection = connection;
                for (name, value) in [
                    ("SQLCMDSERVER", &options.server),
                    ("SQLCMDUSER", &options.user),
                    ("SQLCMDDBNAME", &options.database),
                ] {
                    self.variables.insert(name.to_string(), value.clone());
                }
                self.options = options;
                let server = self.options.server.clone();
                self.write(&format!(
                    "Sqlcmd: Successfully connected to server '{server}'.\n"
                ))?;
                self.begin()
            }
            Err(error) => {
                self.report(&error)?;
                match self.prompts {
                    true => Ok(()),
                    false => Err(Exit(1)),
                }
            }
        }
    }

    /// `-X` refuses: a warning, or the end.
    fn without_shell(&mut self) -> Option<Flow> {
        let ends = self.options.no_shell?;
        let reported = self.report("Sqlcmd: Warning: ED and !!<command> commands are disabled.");
        Some(reported.and(if ends { Err(Exit(1)) } else { Ok(()) }))
    }

    pub(super) fn shell(&mut self, command: &str) -> Flow {
        if let Some(refused) = self.without_shell() {
            return refused;
        }
        self.out.flush().map_err(|_| Exit(1))?;
        let ran = process::Command::new("sh").arg("-c").arg(command).status();
        match ran {
            Ok(_) => Ok(()),
            Err(error) => self.fatal(&format!("'!!{command}': {error}")),
        }
    }

    pub(super) fn edit(&mut self) -> Flow {
        if let Some(refused) = self.without_shell() {
            return refused;
        }
        self.fatal("ED: an editor is not supported; the prompt edits lines and remembers them.")
    }
}
