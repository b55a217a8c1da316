% moving-average.m - MATLAB's example of a convolution with lapwing: conv(signal, ones(10, 1) / 10), before and after.
%
% Start it in a folder with write permission, with lapwing on the path:   octave moving-average.m
% It makes noisy.h5, smooth.h5 and the picture smooth.png. A moving average over 10 samples at 16 kHz passes nothing at 1600 Hz.

rate = 16000;                                   % Hz
time = (0 : 9999)' / rate;
signal = sin(2 * pi * 200 * time) + 0.5 * sin(2 * pi * 1600 * time);

% ---- out, as in two-tones.m
if exist('noisy.h5', 'file')
    delete('noisy.h5');
end
if exist('h5create')
    h5create('noisy.h5', '/signal', size(signal));
    h5write('noisy.h5', '/signal', signal);
else
    save('-hdf5', 'noisy.h5', 'signal');
end

% ---- lapwing: without --precision double it computes in single precision. Other taps come from a file: --filters FILE:/taps.
command = ['lapwing ols --input noisy.h5 --sample-rate 16kHz --boxcar 10,norm=gain --mode full --precision double ' ...
           '--output smooth.h5 --overwrite'];
if system(command) ~= 0 || system('lapwing plot smooth.h5 --to 20ms --output smooth.png --overwrite') ~= 0
    error('lapwing says above what is wrong');
end

% ---- back
if exist('h5read')
    smooth = h5read('smooth.h5', '/filtered');
else
    result = load('smooth.h5');
    smooth = result.filtered;
end
expected = conv(signal, ones(10, 1) / 10);
fprintf('%d outputs, conv has %d; %d of them differ by more than 1e-14\n', numel(smooth), numel(expected), ...
        sum(abs(smooth(:) - expected) > 1e-14));
