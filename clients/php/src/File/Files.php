<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

use Psr\Http\Message\StreamInterface;
use Sandlot\Exception\AgentException;
use Sandlot\Exception\LocalFileException;
use Sandlot\Exception\StreamCutException;
use Sandlot\Http\DataPlane;
use Sandlot\Http\EnvelopeStream;
use Sandlot\Http\Repeat;
use Sandlot\Model\Fields;

/** Files of one sandbox. Paths are absolute, or below the user's home. New files belong to this user. */
final class Files
{
    /** @internal */
    public function __construct(private readonly DataPlane $plane, private readonly ?string $user = null)
    {
    }

    /** Returns an object that works as another user of the sandbox, such as root. */
    public function as(string $user): self
    {
        return new self($this->plane, $user);
    }

    public function read(string $path): string
    {
        return $this->open($path)->getContents();
    }

    /** Opens a file as a stream. */
    public function open(string $path): StreamInterface
    {
        return $this->plane->download('/files', $this->query($path));
    }

    /** Copies to a file of your machine. The file appears when it is complete. */
    public function download(string $path, string $localPath): void
    {
        // Another process may download the same file at the same time.
        $part = $localPath . '.' . bin2hex(random_bytes(4)) . '.part';
        $file = @fopen($part, 'w') ?: throw new LocalFileException("{$part} cannot be written.");
        try {
            $body = $this->open($path);
            while (!$body->eof()) {
                $piece = $body->read(1 << 16);
                if (@fwrite($file, $piece) !== strlen($piece)) {
                    throw new LocalFileException("{$part} cannot be written to its end.");
                }
            }
            if (!@rename($part, $localPath)) {
                throw new LocalFileException("{$localPath} cannot be written.");
            }
        } finally {
            fclose($file);
            if (is_file($part)) {
                unlink($part);
            }
        }
    }

    /**
     * Writes a file. Creates missing directories, and replaces an existing file.
     *
     * @param string|resource|StreamInterface $content of any size
     * @return string the absolute path
     */
    public function write(string $path, mixed $content): string
    {
        return $this->plane->upload('/files', $this->query($path), $content)->fields('0')?->string('path') ?? $path;
    }

    /** Copies a file of your machine into the sandbox. */
    public function upload(string $localPath, string $path): string
    {
        $file = @fopen($localPath, 'r') ?: throw new LocalFileException("{$localPath} cannot be read.");
        try {
            return $this->write($path, $file);
        } finally {
            fclose($file);
        }
    }

    /** Returns an address that downloads the file without a token, until it or the session expires. */
    public function downloadLink(string $path, int $seconds = 900): string
    {
        return $this->plane->link('read', $path, $this->user, $seconds);
    }

    /** Returns an address for an upload: POST, as multipart/form-data or application/octet-stream. */
    public function uploadLink(string $path, int $seconds = 900): string
    {
        return $this->plane->link('write', $path, $this->user, $seconds);
    }

    /**
     * Lists a directory. Depth 1 is its own entries; a larger depth lists directories in it too.
     *
     * @return list<FileInfo>
     */
    public function list(string $path, int $depth = 1): array
    {
        return $this->call('ListDir', ['path' => $path, 'depth' => $depth])->objects('entries', FileInfo::read(...));
    }

    /** @throws AgentException */
    public function stat(string $path): FileInfo
    {
        return $this->call('Stat', ['path' => $path])->object('entry', FileInfo::read(...));
    }

    public function exists(string $path): bool
    {
        try {
            $this->stat($path);
            return true;
        } catch (AgentException $refusal) {
            return $refusal->isNotFound() ? false : throw $refusal;
        }
    }

    /** Creates a directory and its missing parents. Throws already_exists for an existing one. */
    public function makeDirectory(string $path): FileInfo
    {
        return $this->call('MakeDir', ['path' => $path], Repeat::IfNotCarriedOut)->object('entry', FileInfo::read(...));
    }

    /** Moves a file or directory. Replaces an existing destination. */
    public function move(string $from, string $to): FileInfo
    {
        return $this->call('Move', ['source' => $from, 'destination' => $to], Repeat::IfNotCarriedOut)
            ->object('entry', FileInfo::read(...));
    }

    /** Deletes a file, or a directory with its contents. A missing path is no error. */
    public function remove(string $path): void
    {
        $this->call('Remove', ['path' => $path]);
    }

    /**
     * Returns the changes of a directory, from this call until you end the iteration.
     *
     * @return \Generator<int, FileEvent>
     */
    public function watch(string $path, bool $recursive = false): \Generator
    {
        $message = ['path' => $path, 'recursive' => $recursive];
        $stream = $this->plane->stream('filesystem.Filesystem/WatchDir', $message, $this->user);
        if ($stream->next()?->fields('start') === null) {
            throw new StreamCutException("{$path} is not watched: the stream began with no start.");
        }
        return self::events($stream);
    }

    /** @return \Generator<int, FileEvent> */
    private static function events(EnvelopeStream $stream): \Generator
    {
        try {
            while (($message = $stream->next()) !== null) {
                $event = $message->fields('filesystem');
                if ($event !== null) {
                    yield new FileEvent($event->string('name'), $event->enum('type', FileChange::Unknown));
                }
            }
        } finally {
            $stream->close();
        }
    }

    /** @param array<string, mixed> $message */
    private function call(string $method, array $message, Repeat $repeat = Repeat::Safe): Fields
    {
        return $this->plane->call("filesystem.Filesystem/{$method}", $message, $repeat, $this->user);
    }

    /** @return array<string, string|null> */
    private function query(string $path): array
    {
        return ['path' => $path, 'username' => $this->user];
    }
}
