//! The load of `cargo xtask bench`'s wire figures: clients that send one request, wait for its reply, and send the next.
//!
//! `load PORT PASSWORD KIND CLIENTS SECONDS [TEXT MODULUS]` prints `requests|microseconds|fewest|most`, the last two of one
//! client. KIND is `setup`, `empty` (a batch without text), `point` (a prepared SELECT by key), `commit` (a prepared INSERT
//! that commits by itself) or `batch`: TEXT, in which `{n}` is the client's number modulo MODULUS. Requests are built once; of a reply no more is read than where it ends and whether it failed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use duramen_os::time::{self, Instant};
use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::Client;
use duramen_tds::packet::{HEADER_BYTES, PacketType, STATUS_EOM, to_packets};
use duramen_tds::request::{AllHeaders, Batch};
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::Token;
use duramen_types::{SqlType, Value};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Rows of the table that `point` reads.
const ROWS: u32 = 100_000;

const SETUP: [&str; 3] = [
    "CREATE DATABASE wire ON (NAME = wire, FILENAME = 'D:\\wire.mdf', SIZE = 256MB, FILEGROWTH = 256MB) \
     LOG ON (NAME = wire_log, FILENAME = 'D:\\wire_log.ldf', SIZE = 512MB, FILEGROWTH = 256MB)",
    "USE wire; CREATE TABLE point (id int NOT NULL PRIMARY KEY, word varchar(50) NOT NULL); \
     CREATE TABLE hit (id bigint IDENTITY PRIMARY KEY, client int NOT NULL)",
    "USE wire; SET NOCOUNT ON; DECLARE @i int = 1; BEGIN TRAN; WHILE @i <= 100000 BEGIN \
     INSERT point VALUES (@i, 'a word'); SET @i += 1 END; COMMIT",
];

struct Arguments {
    port: u16,
    password: String,
    kind: String,
    clients: usize,
    seconds: f64,
    text: String,
    modulus: u32,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1);
    Some(Arguments {
        port: words.next()?.parse().ok()?,
        password: words.next()?,
        kind: words.next()?,
        clients: words.next()?.parse().ok()?,
        seconds: words.next()?.parse().ok()?,
        text: words.next().unwrap_or_default(),
        modulus: words.next().and_then(|w| w.parse().ok()).unwrap_or(1),
    })
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!(
            "usage: load PORT PASSWORD setup|empty|point|commit|batch CLIENTS SECONDS [TEXT MODULUS]"
        );
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn log_in(arguments: &Arguments) -> Result<Client<Stream>, Failure> {
    let database = match arguments.kind.as_str() {
        "setup" | "batch" => "",
        _ => "wire",
    };
    Ok(connect(&ConnectOptions {
        host: "127.0.0.1".into(),
        port: arguments.port,
        user: "sa".into(),
        password: arguments.password.clone(),
        database: database.into(),
        trust: Trust::NoEncryption,
        ..ConnectOptions::default()
    })?)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.kind == "setup" {
        let mut client = log_in(arguments)?;
        for sql in SETUP {
            client.query(sql)?;
            last_value(&mut client)?;
        }
        return Ok(());
    }
    let mut clients = Vec::new();
    for number in 0..arguments.clients {
        clients.push(Caller::new(arguments, number as u32)?);
    }
    let limit = Duration::from_secs_f64(arguments.seconds);
    let began = time::now();
    let counts = match clients.len() {
        1 => vec![clients.remove(0).alone(began, limit)?],
        _ => together(clients, began, limit)?,
    };
    let micros = began.elapsed().as_micros();
    let (sum, fewest, most) = (
        counts.iter().sum::<u64>(),
        counts.iter().min().copied().unwrap_or(0),
        counts.iter().max().copied().unwrap_or(0),
    );
    println!("{sum}|{micros}|{fewest}|{most}");
    Ok(())
}

/// Reads a reply; the last output value of it.
fn last_value(client: &mut Client<Stream>) -> Result<Option<Value>, Failure> {
    let (mut last, mut error) = (None, None);
    while let Some(token) = client.next_event()? {
        match token {
            Token::ReturnValue { value, .. } => last = Some(value),
            Token::Error(message) => error = error.or(Some(message.text)),
            _ => {}
        }
    }
    match error {
        None => Ok(last),
        Some(text) => Err(text.into()),
    }
}

/// A client with its request.
struct Caller {
    socket: TcpStream,
    request: Vec<u8>,
    /// Where the request's last four bytes, the parameter, change from call to call.
    keyed: bool,
    key: u32,
    /// Keeps the connection.
    _client: Client<Stream>,
}

impl Caller {
    fn new(arguments: &Arguments, number: u32) -> Result<Caller, Failure> {
        let mut client = log_in(arguments)?;
        let sql = match arguments.kind.as_str() {
            "point" => Some("SELECT word FROM point WHERE id = @p"),
            "commit" => Some("INSERT hit (client) VALUES (@p)"),
            _ => None,
        };
        let own = (number % arguments.modulus.max(1)).to_string();
        let text = arguments.text.replace("{n}", &own);
        let (kind, body) = match sql {
            None => (
                PacketType::SqlBatch,
                Batch::build(&text, AllHeaders::default()),
            ),
            Some(sql) => {
                let text = SqlType::nvarchar(4000);
                let prepare = CallBuilder::new(client.headers())
                    .procedure(ProcId::Prepare)
                    .parameter("", true, &SqlType::INT, &Value::Null)?
                    .parameter("", false, &text, &Value::nvarchar("@p int"))?
                    .parameter("", false, &text, &Value::nvarchar(sql))?
                    .finish();
                client.send(PacketType::Rpc, &prepare)?;
                let handle = last_value(&mut client)?.ok_or("no handle")?;
                let execute = CallBuilder::new(client.headers())
                    .procedure(ProcId::Execute)
                    .parameter("", false, &SqlType::INT, &handle)?
                    .parameter("", false, &SqlType::INT, &Value::Int(number as i32))?
                    .finish();
                (PacketType::Rpc, execute)
            }
        };
        Ok(Caller {
            socket: client.stream().socket().try_clone()?,
            request: to_packets(kind, &body, 4096, 0, 0),
            keyed: arguments.kind == "point",
            key: number.wrapping_mul(7919),
            _client: client,
        })
    }

    /// The bytes of the next request.
    fn next(&mut self) -> &[u8] {
        if self.keyed {
            self.key = self.key.wrapping_add(7919) % ROWS;
            let at = self.request.len() - 4;
            self.request[at..].copy_from_slice(&(self.key + 1).to_le_bytes());
        }
        &self.request
    }

    fn alone(mut self, began: Instant, limit: Duration) -> Result<u64, Failure> {
        let mut socket = self.socket.try_clone()?;
        let mut buffer = Vec::new();
        let mut piece = vec![0; 16 * 1024];
        let mut count = 0;
        while began.elapsed() < limit {
            socket.write_all(self.next())?;
            buffer.clear();
            while !whole(&buffer)? {
                let n = socket.read(&mut piece)?;
                if n == 0 {
                    return Err("the server hung up".into());
                }
                buffer.extend_from_slice(&piece[..n]);
            }
            count += 1;
        }
        Ok(count)
    }
}

/// All clients on one thread, each with one request on its way, as pgbench has them.
fn together(clients: Vec<Caller>, began: Instant, limit: Duration) -> Result<Vec<u64>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async move {
        let mut tasks = Vec::new();
        for client in clients {
            tasks.push(tokio::spawn(one_of_many(client, began, limit)));
        }
        let mut counts = Vec::new();
        for task in tasks {
            counts.push(task.await??);
        }
        Ok(counts)
    })
}

async fn one_of_many(mut caller: Caller, began: Instant, limit: Duration) -> Result<u64, Failure> {
    let socket = caller.socket.try_clone()?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::TcpStream::from_std(socket)?;
    let mut buffer = Vec::new();
    let mut piece = vec![0; 4096];
    let mut count = 0;
    while began.elapsed() < limit {
        socket.writable().await?;
        if socket.try_write(caller.next())? != caller.request.len() {
            return Err("a request did not leave at once".into());
        }
        buffer.clear();
        while !whole(&buffer)? {
            socket.readable().await?;
            match socket.try_read(&mut piece) {
                Ok(0) => return Err("the server hung up".into()),
                Ok(n) => buffer.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        count += 1;
    }
    Ok(count)
}

/// Whether a whole reply is there; an error when it tells of one.
fn whole(buffer: &[u8]) -> Result<bool, Failure> {
    const DONE_BYTES: usize = 13;
    let mut at = 0;
    while let Some(header) = buffer.get(at..at + HEADER_BYTES) {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let end = at + length;
        if buffer.len() < end || length < HEADER_BYTES {
            return Ok(false);
        }
        if header[1] & STATUS_EOM != 0 {
            // The last token is a DONE; bit 2 of its status says that something failed.
            return match end
                .checked_sub(DONE_BYTES - 1)
                .map(|status| buffer[status] & 2)
            {
                Some(0) => Ok(true),
                _ => Err("a request failed".into()),
            };
        }
        at = end;
    }
    Ok(false)
}
